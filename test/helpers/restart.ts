import { randomBytes } from 'node:crypto'
import type { ExecutionContext } from 'ava'
import { listingTexts, startFakeRegistry } from './fake-registry.ts'
import { freePort } from './free-port.ts'
import { askBriefly } from './gateway.ts'

/** The listings of a source that is away are what the store has saved of it. */
export async function remainsToTheByte(t: ExecutionContext, storeUrl: string): Promise<void> {
  const fake = await startFakeRegistry({ items: listingTexts('a', 120), port: await freePort() })
  const name = `upstream-${randomBytes(6).toString('hex')}`
  const upstream = { name, url: fake.url }
  const path = `/listings?sources=${name}&limit=200`
  const ask = async () => (await askBriefly(t, upstream, path, { STORE_URL: storeUrl })).json()
  const before = await ask()
  await fake.close()
  const after = await ask()
  t.like(before, { total_after_filter: 120, complete: true, sources: [{ state: 'loaded' }] })
  t.like(after, { total_after_filter: 120, complete: true })
  t.deepEqual(after.items, before.items)
}
