// A rank of suite `allreduce` that sums through the switch. Its one algorithm is "switch".
#include <array>
#include <exception>
#include <iostream>

#include "bench/rank.h"
#include "worker/api/communicator.h"

namespace tributary::bench {
namespace {

class SwitchSide : public RankSide {
 public:
  explicit SwitchSide(const RankOptions& options) {
    CommunicatorOptions join;
    join.job = 1;
    join.rank = options.rank;
    join.size = options.size;
    join.address = options.other.at("address");
    communicator_ = Communicator::create(join);
  }

  void barrier() override { communicator_->barrier(); }

  std::function<void()> prepare(const std::string& algorithm, std::span<float> data) override {
    if (algorithm != "switch") throw std::invalid_argument("no algorithm " + algorithm);
    return [this, data] {
      communicator_->allreduce(data.data(), data.size(), wire::DType::float32, wire::ReduceOp::sum)
          .wait();
    };
  }

 private:
  std::unique_ptr<Communicator> communicator_;
};

}  // namespace
}  // namespace tributary::bench

int main(int argc, char** argv) {
  using namespace tributary::bench;
  try {
    const RankOptions options = parse_rank_options(argc, argv, std::array{"address"});
    SwitchSide side(options);
    return serve(options, side);
  } catch (const std::exception& error) {
    std::cerr << "tributary_rank: " << error.what() << std::endl;
    return 1;
  }
}
