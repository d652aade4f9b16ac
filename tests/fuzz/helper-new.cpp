/* operator new as in a helper process: a greedy request is refused by an exception, where a
 * sanitizer's own would end the program. */
#include <cstdlib>
#include <new>

namespace
{
constexpr std::size_t MOST = std::size_t(64) << 20; /* bytes: what helpers get for small files */

void *
allocate(std::size_t size)
{
  return size <= MOST ? std::malloc(size ? size : 1) : nullptr;
}
} // namespace

void *
operator new(std::size_t size)
{
  if (void *p = allocate(size))
    return p;
  throw std::bad_alloc();
}

void *
operator new[](std::size_t size)
{
  return operator new(size);
}

void *
operator new(std::size_t size, const std::nothrow_t &) noexcept
{
  return allocate(size);
}

void *
operator new[](std::size_t size, const std::nothrow_t &) noexcept
{
  return allocate(size);
}

void
operator delete(void *p) noexcept
{
  std::free(p);
}

void
operator delete[](void *p) noexcept
{
  std::free(p);
}

void
operator delete(void *p, std::size_t) noexcept
{
  std::free(p);
}

void
operator delete[](void *p, std::size_t) noexcept
{
  std::free(p);
}
