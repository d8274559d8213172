import type { PackedListings } from '../domain/packed-listings.ts'
import type { BlockParts } from '../listing-index/block.ts'
import { BlockBuilder, type BlockPlan } from '../listing-index/block-builder.ts'
import { PackedRows } from './packed-rows.ts'

/** What every block of one load is made with. */
export type BlockSetting = {
  plan: BlockPlan
  /** By publisher id. */
  storefronts: ReadonlyMap<number, string | null>
}

/** The block of these listings, oldest first, which must not be more than the plan has slots. */
export const buildBlock = (
  { plan, storefronts }: BlockSetting,
  pages: readonly PackedListings[],
): BlockParts => {
  const builder = new BlockBuilder(plan)
  const rows = new PackedRows(storefronts)
  for (const page of pages) rows.forEach(page, (entry) => builder.add(entry))
  return builder.finish()
}
