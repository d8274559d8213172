/**
 * An example policy: machines with at least 4 GPUs, those in preferred regions first.
 *
 *     entrepot listings --policy docs/examples/big-machines-near-me.ts
 *
 * A policy's default export takes the merged array (each listing as its Registry served it, plus `_meta`) and returns
 * an array or a promise of one. The command prints that array in its order.
 */
type Listing = {
  listing_id: string
  offer_resource: { gpu_count?: number; region?: string }
  _meta: { registry: string; publisher?: string; also_in: string[]; stale: boolean }
}

const REGIONS = ['Tokyo, JP', 'California, US']

export default (listings: Listing[]): Listing[] =>
  listings
    .filter(({ offer_resource }) => (offer_resource.gpu_count ?? 0) >= 4)
    .sort((a, b) => rank(a) - rank(b))

const rank = ({ offer_resource }: Listing): number => {
  const index = REGIONS.indexOf(offer_resource.region ?? '')
  return index < 0 ? REGIONS.length : index
}
