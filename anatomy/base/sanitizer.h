/* PLA_SANITIZED is 1 in address and thread sanitizer builds, which own malloc and reserve so much
 * address space that memory limits cannot be kept, else 0. */
#pragma once

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define PLA_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define PLA_SANITIZED 1
#endif
#endif
#ifndef PLA_SANITIZED
#define PLA_SANITIZED 0
#endif
