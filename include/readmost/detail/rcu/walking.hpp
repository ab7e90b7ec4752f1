// SPDX-License-Identifier: Apache-2.0
// Walks over intrusive containers: their forward iterator, and a walk that erases.
#pragma once

#include <cstddef>
#include <iterator>
#include <type_traits>

namespace readmost::detail {

// `T`: the element, const for readers. `Hook`: what links it, const as T is. The container has
// static members step(Hook*), which returns the next hook, and object_of(Hook*).
template <class Container, class T, class Hook>
class link_iterator {
 public:
  using iterator_category = std::forward_iterator_tag;
  using value_type = std::remove_const_t<T>;
  using difference_type = std::ptrdiff_t;
  using pointer = T*;
  using reference = T&;

  link_iterator() noexcept = default;
  reference operator*() const noexcept { return *Container::object_of(at_); }
  pointer operator->() const noexcept { return Container::object_of(at_); }
  link_iterator& operator++() noexcept {
    at_ = Container::step(at_);
    return *this;
  }
  link_iterator operator++(int) noexcept {
    const link_iterator before = *this;
    ++*this;
    return before;
  }
  bool operator==(const link_iterator&) const noexcept = default;

 private:
  friend Container;
  explicit link_iterator(Hook* at) noexcept : at_(at) {}

  Hook* at_ = nullptr;
};

// Erases from a list the elements for which chosen(const T&) is true, and calls dispose(element)
// for each; returns their number.
template <class List, class Chosen, class Dispose>
std::size_t erase_chosen(List& list, Chosen& chosen, Dispose& dispose) {
  std::size_t erased = 0;
  const auto all = list.writable();
  for (auto at = all.begin(); at != all.end();) {
    auto& each = *at++;
    if (!chosen(static_cast<const typename List::value_type&>(each))) continue;
    list.erase(each);
    ++erased;
    dispose(each);
  }
  return erased;
}

}  // namespace readmost::detail
