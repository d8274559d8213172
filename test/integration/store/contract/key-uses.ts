import test, { type ExecutionContext } from 'ava'
import type { KeyUseStorage } from '../../../../src/domain/api-key.ts'

type OpenKeyUses = (t: ExecutionContext) => Promise<{ one: KeyUseStorage; other: KeyUseStorage }>

/** What every storage of key uses has to pass. `other` is a second one on the same data. */
export function keyUseContract(name: string, open: OpenKeyUses): void {
  test(`${name}: calls of all processes are added, and the latest use is kept`, async (t) => {
    const { one, other } = await open(t)
    t.deepEqual(await one.read(), [])
    await one.add([])
    await one.add([
      { keyId: 1, calls: 3, lastUsedAt: 1_700_000_000_000_500 },
      { keyId: 12, calls: 1, lastUsedAt: 1_700_000_000_000_000 },
    ])
    await Promise.all([
      other.add([{ keyId: 1, calls: 2, lastUsedAt: 1_700_000_000_000_900 }]),
      one.add([{ keyId: 1, calls: 5, lastUsedAt: 1_700_000_000_000_700 }]),
    ])
    for (const storage of [one, other])
      t.deepEqual(
        (await storage.read()).sort((a, b) => a.keyId - b.keyId),
        [
          { keyId: 1, calls: 10, lastUsedAt: 1_700_000_000_000_900 },
          { keyId: 12, calls: 1, lastUsedAt: 1_700_000_000_000_000 },
        ],
      )
  })
}
