import type { PackedListings } from '../domain/listing.ts'
import type { BlockParts } from '../listing-index/block.ts'
import { BlockBuilder, type BlockPlan } from '../listing-index/block-builder.ts'
import { PackedRows } from './packed-rows.ts'

export type BlockSetting = {
  plan: BlockPlan
  /** By publisher id. */
  storefronts: ReadonlyMap<number, string | null>
}

/** Takes the oldest listings first, at most as many as the plan has slots. */
export function buildBlock(
  { plan, storefronts }: BlockSetting,
  pages: readonly PackedListings[],
): BlockParts {
  const builder = new BlockBuilder(plan)
  const rows = new PackedRows(storefronts)
  for (const page of pages) rows.forEach(page, (entry) => builder.add(entry))
  return builder.finish()
}
