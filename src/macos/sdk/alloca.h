/* SPDX-License-Identifier: Apache-2.0 */
/* Included by base/banned.h, which forbids it. */
