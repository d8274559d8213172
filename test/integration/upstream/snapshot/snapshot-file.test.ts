import { readdir, stat, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import test, { type ExecutionContext } from 'ava'
import fc from 'fast-check'
import type { Item } from '../../../../src/domain/source/item.ts'
import { snapshotFile } from '../../../../src/upstream/snapshot/snapshot-file.ts'
import { fakeItem } from '../../../helpers/fake-source.ts'
import { jsonObjectText } from '../../../helpers/json-text.ts'
import { temporaryFolder } from '../../../helpers/run-cli.ts'
import { runs } from '../../../helpers/runs.ts'

const IDENTITY = 'one upstream, one key'
const TAKEN_AT = 1_790_000_000_000

async function folderOf(t: ExecutionContext): Promise<string> {
  const folder = temporaryFolder(t)
  return join(folder, 'snapshots')
}

function itemOf(listingId: string, text: string): Item {
  return fakeItem(listingId, 1_790_000_000_000_123, {
    bytes: Buffer.from(text),
    publisher: '0xabc',
    aliases: ['0xdef'],
    origin: { registry: 'eu/curated', alsoIn: ['x'], disputed: [], stale: false, differs: true },
  })
}

test('a saved snapshot is loaded as it was, listings to the byte, with what a gateway missed', async (t) => {
  const path = join(await folderOf(t), 'eu')
  const missing = [
    { registry: 'a/b', state: 'unavailable', reason: 'timeout', heardAt: 1_780_000_000_000 },
    { registry: '*', state: 'skipped' },
  ] as const
  const entries = fc.uniqueArray(fc.tuple(fc.string({ minLength: 1 }), jsonObjectText()), {
    selector: ([id]) => id,
  })
  await fc.assert(
    fc.asyncProperty(entries, fc.boolean(), async (all, isComplete) => {
      const listings = new Map(all.map(([id, text]) => [`${id}\n1`, itemOf(id, text)]))
      const saved = { takenAt: TAKEN_AT, listings, ...(isComplete ? {} : { missing }) }
      await snapshotFile(path, IDENTITY).save(saved)
      t.deepEqual(await snapshotFile(path, IDENTITY).load(), saved)
    }),
    { numRuns: runs(30) },
  )
})

test('without a file, or with one of another identity, nothing is loaded', async (t) => {
  const path = join(await folderOf(t), 'eu')
  t.is(await snapshotFile(path, IDENTITY).load(), null)
  await snapshotFile(path, IDENTITY).save({ takenAt: 1, listings: new Map() })
  t.is(await snapshotFile(path, 'one upstream, another key').load(), null)
})

test('a file is readable for its owner only, and saves at once do not mix', async (t) => {
  const folder = await folderOf(t)
  const path = join(folder, 'eu')
  const listings = new Map([['a', itemOf('a', '{}')]])
  await Promise.all([1, 2, 3].map((takenAt) => snapshotFile(path, IDENTITY).save({ takenAt, listings })))
  t.is((await stat(path)).mode & 0o077, 0)
  t.is((await stat(folder)).mode & 0o077, 0)
  t.deepEqual(await readdir(folder), ['eu'])
  t.is((await snapshotFile(path, IDENTITY).load())?.listings.size, 1)
})

test('a file that is cut off anywhere, or is no snapshot, is an error', async (t) => {
  const path = join(await folderOf(t), 'eu')
  const file = snapshotFile(path, IDENTITY)
  await file.save({ takenAt: 1, listings: new Map([['a', itemOf('a', '{"a":[1]}')]]) })
  const { size } = await stat(path)
  for (let length = size - 3; length >= 0; length -= 7) {
    await truncate(path, length)
    await t.throwsAsync(file.load(), undefined, String(length))
  }
  const identity = JSON.stringify(IDENTITY)
  for (const text of [
    'null',
    '[]',
    `{"identity":${identity},"taken_at":1,"listings":[{}]}`,
    '{"taken_at":1,"listings":7}',
  ]) {
    await writeFile(path, text)
    await t.throwsAsync(file.load(), { instanceOf: SyntaxError }, text)
  }
})
