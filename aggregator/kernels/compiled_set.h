// The kernels of one instruction set: the plain loops compiled for it, and loops over its own
// vectors for ops that compilers do not vectorise well.
//
// The compiler must see the instruction set on each function; a template parameter cannot carry it.
// So each set's header defines TRIBUTARY_SET, a namespace, and TRIBUTARY_TARGET, the attribute of
// all its functions, and includes this file; nothing else may include it.
//
// A set with vectors of its own specialises Lanes for elements: a register type V of kLanes
// accumulator elements, load() and store() of those, widen() of as many wire elements, and the
// functions that the ops at the end of this file use. Whole vectors only: plain loops do the tails.
#ifndef TRIBUTARY_SET
#error "to be included by the header of an instruction set"
#endif

namespace tributary::aggregator::kernels::TRIBUTARY_SET {

template <typename P>
struct Set {
  TRIBUTARY_TARGET static void open(void* acc, const void* src, std::size_t n) {
    kernels::open<P>(static_cast<std::byte*>(acc), static_cast<const std::byte*>(src), n);
  }
  TRIBUTARY_TARGET static bool fold(void* acc, const void* src, std::size_t n) {
    return kernels::fold<P>(static_cast<std::byte*>(acc), static_cast<const std::byte*>(src), n);
  }
  TRIBUTARY_TARGET static bool fuse(void* acc, const void* const* srcs, std::size_t sources,
                                    std::size_t n) {
    return kernels::fuse<P>(true, static_cast<std::byte*>(acc), srcs, sources, n);
  }
  TRIBUTARY_TARGET static bool fold_all(void* acc, const void* const* srcs, std::size_t sources,
                                        std::size_t n) {
    return kernels::fuse<P>(false, static_cast<std::byte*>(acc), srcs, sources, n);
  }
  template <bool kMean>
  TRIBUTARY_TARGET static bool finish(void* out, const void* acc, std::size_t n,
                                      std::uint32_t divisor) {
    return kernels::finish<P, kMean>(static_cast<std::byte*>(out),
                                     static_cast<const std::byte*>(acc), n, divisor);
  }
};

// Steps is an op over Lanes, with apply() like the pair's op (or its quick(), if there is one), and
// overflowed(), which tests the marks of apply().
template <typename P, typename Steps>
struct Vectors {
  using Wire = typename P::Wire;
  using Acc = typename P::Acc;
  static constexpr std::size_t kTurn = 4 * Steps::kLanes;  // elements

  TRIBUTARY_TARGET static void open(void* acc, const void* src, std::size_t n) {
    auto* a = static_cast<std::byte*>(acc);
    const auto* s = static_cast<const std::byte*>(src);
    std::size_t i = 0;
    if constexpr (Steps::kConverts) {
      for (; i + Steps::kLanes <= n; i += Steps::kLanes)
        Steps::store(a + i * sizeof(Acc), Steps::widen(s + i * sizeof(Wire)));
    }
    kernels::open<P>(a + i * sizeof(Acc), s + i * sizeof(Wire), n - i);
  }

  TRIBUTARY_TARGET static bool fold(void* acc, const void* src, std::size_t n) {
    auto* a = static_cast<std::byte*>(acc);
    const auto* s = static_cast<const std::byte*>(src);
    typename Steps::Marks marks{};
    std::size_t i = 0;
    // No software prefetch: CPUs follow one stream better than such instructions do.
    TRIBUTARY_UNROLL
    for (; i + Steps::kLanes <= n; i += Steps::kLanes) step(a, s, i, marks);
    if (i == n && !Steps::overflowed(marks)) return false;
    const bool tail = quick_fold<P>(a + i * sizeof(Acc), s + i * sizeof(Wire), n - i);
    return (Steps::overflowed(marks) || tail) && redo<P>(a, s, n);
  }

  TRIBUTARY_TARGET static bool fuse(void* acc, const void* const* srcs, std::size_t sources,
                                    std::size_t n) {
    return kernels::fuse<P, Vectors>(true, static_cast<std::byte*>(acc), srcs, sources, n);
  }
  TRIBUTARY_TARGET static bool fold_all(void* acc, const void* const* srcs, std::size_t sources,
                                        std::size_t n) {
    return kernels::fuse<P, Vectors>(false, static_cast<std::byte*>(acc), srcs, sources, n);
  }

  template <bool kMean>
  TRIBUTARY_TARGET static bool finish(void* out, const void* acc, std::size_t n,
                                      std::uint32_t divisor) {
    auto* o = static_cast<std::byte*>(out);
    const auto* a = static_cast<const std::byte*>(acc);
    std::size_t i = 0;
    if constexpr (Steps::kConverts) {
      // Writes never pass what was read, so `out` may be `acc`.
      for (; i + Steps::kLanes <= n; i += Steps::kLanes) {
        typename Steps::V value = Steps::load(a + i * sizeof(Acc));
        if constexpr (kMean) value = Steps::divide(value, static_cast<Acc>(divisor));
        Steps::narrow(o + i * sizeof(Wire), value);
      }
    }
    return kernels::finish<P, kMean>(o + i * sizeof(Wire), a + i * sizeof(Acc), n - i, divisor);
  }

  // One group of sources for kernels::fuse(), which is compiled for no set and so calls this.
  TRIBUTARY_TARGET static bool run(bool opening, std::byte* acc, const void* const* srcs,
                                   std::size_t sources, std::size_t n) {
    if (opening && sources == 1) return PlainGroups<P>::run(true, acc, srcs, 1, n);
    return opening ? combine<true>(acc, srcs, sources, n) : combine<false>(acc, srcs, sources, n);
  }

 private:
  TRIBUTARY_TARGET TRIBUTARY_INLINE void step(std::byte* acc, const std::byte* src, std::size_t i,
                                              typename Steps::Marks& marks) {
    std::byte* to = acc + i * sizeof(Acc);
    Steps::store(to, Steps::apply(Steps::load(to), Steps::widen(src + i * sizeof(Wire)), marks));
  }

  template <bool kOpening>
  TRIBUTARY_TARGET static bool combine(std::byte* acc, const void* const* srcs, std::size_t sources,
                                       std::size_t n) {
    typename Steps::Marks marks{};
    std::size_t i = 0;
    const auto source = [&](std::size_t s) {
      return static_cast<const std::byte*>(srcs[s]) + i * sizeof(Wire);
    };
    for (; i + kTurn <= n; i += kTurn) {
      std::byte* at = acc + i * sizeof(Acc);
      typename Steps::V v[4];
      for (std::size_t t = 0; t < 4; ++t)
        v[t] = kOpening ? Steps::widen(source(0) + t * Steps::kLanes * sizeof(Wire))
                        : Steps::load(at + t * Steps::kLanes * sizeof(Acc));
      for (std::size_t s = kOpening ? 1 : 0; s < sources; ++s) {
        const std::byte* from = source(s);
        for (std::size_t t = 0; t < 4; ++t)
          v[t] = Steps::apply(v[t], Steps::widen(from + t * Steps::kLanes * sizeof(Wire)), marks);
      }
      for (std::size_t t = 0; t < 4; ++t) Steps::store(at + t * Steps::kLanes * sizeof(Acc), v[t]);
    }
    const bool overflow = Steps::overflowed(marks);
    if (i == n) return overflow;
    const void* rest[kGroup] = {};
    for (std::size_t s = 0; s < sources; ++s) rest[s] = source(s);
    return PlainGroups<P>::run(kOpening, acc + i * sizeof(Acc), rest, sources, n - i) || overflow;
  }
};

template <typename Element>
struct Lanes;

// The marks of ops that cannot overflow.
struct NoMarks {};

template <typename E>
struct SumSteps : Lanes<E> {
  using L = Lanes<E>;
  using V = typename L::V;
  using Marks = NoMarks;
  TRIBUTARY_TARGET TRIBUTARY_INLINE V apply(V a, V b, NoMarks&) { return L::one_nan(L::add(a, b)); }
  TRIBUTARY_TARGET TRIBUTARY_INLINE bool overflowed(NoMarks) { return false; }
};
template <typename E>
struct ProductSteps : SumSteps<E> {
  using L = Lanes<E>;
  using V = typename L::V;
  TRIBUTARY_TARGET TRIBUTARY_INLINE V apply(V a, V b, NoMarks&) {
    return L::one_nan(L::multiply(a, b));
  }
};
template <typename E>
struct MinimumSteps : SumSteps<E> {
  using L = Lanes<E>;
  using V = typename L::V;
  TRIBUTARY_TARGET TRIBUTARY_INLINE V apply(V a, V b, NoMarks&) {
    return L::nan_if_unordered(L::minimum(a, b), a, b);
  }
};
template <typename E>
struct MaximumSteps : SumSteps<E> {
  using L = Lanes<E>;
  using V = typename L::V;
  TRIBUTARY_TARGET TRIBUTARY_INLINE V apply(V a, V b, NoMarks&) {
    return L::nan_if_unordered(L::maximum(a, b), a, b);
  }
};

// Float ops with vectors; the requirement is that the set specialises `Lanes` for the element.
template <typename E, typename T>
requires requires {
  sizeof(Lanes<E>);
}
struct Set<Pair<E, FloatSum<T>>> : Vectors<Pair<E, FloatSum<T>>, SumSteps<E>> {};
template <typename E, typename T>
requires requires {
  sizeof(Lanes<E>);
}
struct Set<Pair<E, FloatProduct<T>>> : Vectors<Pair<E, FloatProduct<T>>, ProductSteps<E>> {};
template <typename E, typename T>
requires requires {
  sizeof(Lanes<E>);
}
struct Set<Pair<E, FloatMinimum<T>>> : Vectors<Pair<E, FloatMinimum<T>>, MinimumSteps<E>> {};
template <typename E, typename T>
requires requires {
  sizeof(Lanes<E>);
}
struct Set<Pair<E, FloatMaximum<T>>> : Vectors<Pair<E, FloatMaximum<T>>, MaximumSteps<E>> {};

}  // namespace tributary::aggregator::kernels::TRIBUTARY_SET
