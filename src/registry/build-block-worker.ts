import { workerData } from 'node:worker_threads'
import { move, transferableSymbol, valueSymbol } from 'piscina'
import type { PackedListings } from '../domain/packed-listings.ts'
import { buffersIn } from './buffers-in.ts'
import { type BlockSetting, buildBlock } from './build-block.ts'

/** What a worker thread does: one block at a time, whose memory changes hands without being copied. */
export default (pages: readonly PackedListings[]): unknown => {
  const block = buildBlock(workerData as BlockSetting, pages)
  return move({ [transferableSymbol]: buffersIn(block), [valueSymbol]: block })
}
