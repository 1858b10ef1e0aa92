// A rank of suite `allreduce` that sums with Gloo over TCP: every algorithm that the library has
// for this, since the best one counts. They meet through files in a shared directory.
#include <gloo/allreduce.h>
#include <gloo/allreduce_bcube.h>
#include <gloo/allreduce_halving_doubling.h>
#include <gloo/allreduce_ring.h>
#include <gloo/allreduce_ring_chunked.h>
#include <gloo/barrier.h>
#include <gloo/math.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/file_store.h>
#include <gloo/transport/tcp/device.h>

#include <array>
#include <exception>
#include <iostream>

#include "bench/rank.h"

namespace tributary::bench {
namespace {

class GlooSide : public RankSide {
 public:
  explicit GlooSide(const RankOptions& options) {
    gloo::transport::tcp::attr attr;
    attr.iface = options.other.at("interface");
    auto device = gloo::transport::tcp::CreateDevice(attr);
    gloo::rendezvous::FileStore store(options.other.at("store"));
    auto context = std::make_shared<gloo::rendezvous::Context>(static_cast<int>(options.rank),
                                                               static_cast<int>(options.size));
    context->connectFullMesh(store, device);
    context_ = context;
  }

  void barrier() override {
    gloo::BarrierOptions options(context_);
    gloo::barrier(options);
  }

  std::function<void()> prepare(const std::string& algorithm, std::span<float> data) override {
    if (algorithm == "ring") return call(gloo::AllreduceOptions::Algorithm::RING, data);
    if (algorithm == "bcube") return call(gloo::AllreduceOptions::Algorithm::BCUBE, data);
    if (algorithm == "classic_ring") return object<gloo::AllreduceRing<float>>(data);
    if (algorithm == "classic_ring_chunked") return object<gloo::AllreduceRingChunked<float>>(data);
    if (algorithm == "classic_bcube") return object<gloo::AllreduceBcube<float>>(data);
    if (algorithm == "classic_halving_doubling")
      return object<gloo::AllreduceHalvingDoubling<float>>(data);
    throw std::invalid_argument("no algorithm " + algorithm);
  }

 private:
  // The newer interface: one function.
  std::function<void()> call(gloo::AllreduceOptions::Algorithm algorithm, std::span<float> data) {
    return [this, algorithm, data] {
      gloo::AllreduceOptions options(context_);
      options.setAlgorithm(algorithm);
      options.setOutput(data.data(), data.size());
      options.setReduceFunction([](void* out, const void* a, const void* b, std::size_t count) {
        gloo::sum<float>(out, a, b, count);
      });
      gloo::allreduce(options);
    };
  }

  // The older interface: an object per array, which registers its buffers once.
  template <typename Algorithm>
  std::function<void()> object(std::span<float> data) {
    auto algorithm = std::make_shared<Algorithm>(context_, std::vector<float*>{data.data()},
                                                 static_cast<int>(data.size()));
    return [algorithm] { algorithm->run(); };
  }

  std::shared_ptr<gloo::Context> context_;
};

}  // namespace
}  // namespace tributary::bench

int main(int argc, char** argv) {
  using namespace tributary::bench;
  try {
    const RankOptions options = parse_rank_options(argc, argv, std::array{"interface", "store"});
    GlooSide side(options);
    return serve(options, side);
  } catch (const std::exception& error) {
    std::cerr << "gloo_rank: " << error.what() << std::endl;
    return 1;
  }
}
