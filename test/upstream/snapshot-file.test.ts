import { mkdtemp, readdir, rm, stat, truncate, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import test, { type ExecutionContext } from 'ava'
import fc from 'fast-check'
import type { Item } from '../../src/domain/page.ts'
import { snapshotFile } from '../../src/upstream/snapshot-file.ts'
import { jsonObjectText } from '../helpers/json-text.ts'

const URL = 'https://registry.example'

const folderOf = async (t: ExecutionContext): Promise<string> => {
  const folder = await mkdtemp(join(tmpdir(), 'entrepot-'))
  t.teardown(() => rm(folder, { recursive: true }))
  return join(folder, 'snapshots')
}

const itemOf = (listingId: string, text: string): Item => ({
  bytes: Buffer.from(text),
  listingId,
  createdAt: 1_790_000_000_000_123,
  storefrontUrl: null,
  publisher: '0xabc',
  origin: { registry: 'eu/curated', alsoIn: ['x'], stale: false, differs: true },
})

test('what was saved comes back, listings to the byte', async (t) => {
  const path = join(await folderOf(t), 'eu')
  const file = snapshotFile(path, URL)
  await fc.assert(
    fc.asyncProperty(
      fc.uniqueArray(fc.tuple(fc.string({ minLength: 1 }), jsonObjectText()), { selector: ([id]) => id }),
      async (entries) => {
        const listings = new Map(entries.map(([id, text]) => [`${id}\n1`, itemOf(id, text)]))
        await file.save({ takenAt: 1_790_000_000_000, listings })
        t.deepEqual(await snapshotFile(path, URL).load(), { takenAt: 1_790_000_000_000, listings })
      },
    ),
    { numRuns: 30 },
  )
})

test('what a gateway missed is saved with what it had', async (t) => {
  const path = join(await folderOf(t), 'eu')
  const saved = {
    takenAt: 1_790_000_000_000,
    listings: new Map([['1', itemOf('1', '{}')]]),
    gaps: [
      { registry: 'a/b', state: 'unavailable', reason: 'timeout', heardAt: 1_780_000_000_000 },
      { registry: '*', state: 'skipped' },
    ],
  } as const
  await snapshotFile(path, URL).save(saved)
  t.deepEqual(await snapshotFile(path, URL).load(), saved)
})

test('where nothing was saved there is nothing, and so for another upstream of that name', async (t) => {
  const path = join(await folderOf(t), 'eu')
  t.is(await snapshotFile(path, URL).load(), null)
  await snapshotFile(path, URL).save({ takenAt: 1, listings: new Map() })
  t.is(await snapshotFile(path, 'https://other.example').load(), null)
})

test('a file is for its owner alone, and a save that was cut short leaves the last one', async (t) => {
  const folder = await folderOf(t)
  const path = join(folder, 'eu')
  await snapshotFile(path, URL).save({ takenAt: 1, listings: new Map([['a', itemOf('a', '{}')]]) })
  t.is((await stat(path)).mode & 0o077, 0)
  t.is((await stat(folder)).mode & 0o077, 0)
  t.deepEqual(await readdir(folder), ['eu'])
  await writeFile(`${path}.new`, '{"url":')
  t.is((await snapshotFile(path, URL).load())?.listings.size, 1)
})

test('a file that is cut off, or no snapshot at all, is an error at every byte', async (t) => {
  const path = join(await folderOf(t), 'eu')
  await snapshotFile(path, URL).save({ takenAt: 1, listings: new Map([['a', itemOf('a', '{"a":[1]}')]]) })
  const { size } = await stat(path)
  for (let length = size - 3; length >= 0; length -= 7) {
    await truncate(path, length)
    await t.throwsAsync(snapshotFile(path, URL).load(), undefined, String(length))
  }
  for (const text of [
    'null',
    '[]',
    `{"url":"${URL}","taken_at":1,"listings":[{}]}`,
    '{"taken_at":1,"listings":7}',
  ]) {
    await writeFile(path, text)
    await t.throwsAsync(snapshotFile(path, URL).load(), { instanceOf: SyntaxError }, text)
  }
})
