// tenon/kit.h - the kit for plugins, all of it: what a plugin for any hardware needs to answer
// queries and to plan graphs. Header-only, C++17 (g++, clang++, nvcc, hipcc), nothing of the core.
//
//   tenon/kit/verdict.h        yes(), no(reason, text)
//   tenon/kit/types.h          sizes of types, from a type id to a C++ type
//   tenon/kit/layout.h         dense rows, contiguity, where a tensor lies, what overlaps
//   tenon/kit/rows.h           rows, elements, parameters
//   tenon/kit/kernel_list.h    which kernel computes a node, and what the core is told about it
//   tenon/kit/graph_reading.h  who made a source, what may be left unwritten
//   tenon/kit/plan_cache.h     plans of graphs that come again
//   tenon/kit/half.h           f16 and bf16 to and from f32
//   tenon/kit/tag.h            read this where one plugin has objects for several instruction sets
#pragma once

#include "tenon/kit/graph_reading.h"
#include "tenon/kit/half.h"
#include "tenon/kit/kernel_list.h"
#include "tenon/kit/layout.h"
#include "tenon/kit/plan_cache.h"
#include "tenon/kit/rows.h"
#include "tenon/kit/tag.h"
#include "tenon/kit/types.h"
#include "tenon/kit/verdict.h"
