import type { ExecutionContext } from 'ava'
import { type FakeRegistry, listingTexts } from './fake-registry.ts'
import { startFake } from './gateway.ts'

type FarCopies = {
  /** Each has `count` own listings, a second apart, and copies of the other's. */
  fakes: readonly [FakeRegistry, FakeRegistry]
  /** Every `listing_id`, sorted. */
  ids: readonly string[]
  /** Ids that both have. */
  shared: ReadonlySet<string>
}

/** Two Registries that share every fifth listing of the first, created 700 seconds later or earlier in the second. */
export async function startFarCopies(t: ExecutionContext, count: number): Promise<FarCopies> {
  const own = listingTexts('a', count)
  const copies = own
    .filter((_, n) => n % 5 === 0)
    .map((text, n) => {
      const listing = JSON.parse(text)
      const at = Date.parse(`${listing.created_at}Z`) + (n % 2 === 0 ? 700_000 : -700_000)
      return JSON.stringify({ ...listing, created_at: new Date(at).toISOString().slice(0, 19) })
    })
  const items = [...listingTexts('b', count), ...copies].sort((x, y) =>
    JSON.parse(x).created_at < JSON.parse(y).created_at ? 1 : -1,
  )
  const idOf = (text: string): string => JSON.parse(text).listing_id
  return {
    fakes: [await startFake(t, { items: own }), await startFake(t, { items })],
    ids: [...new Set([...own, ...items].map(idOf))].sort(),
    shared: new Set(copies.map(idOf)),
  }
}
