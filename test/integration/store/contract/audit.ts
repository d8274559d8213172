import test from 'ava'
import type { AuditBounds, AuditEntry, NewAuditEntry } from '../../../../src/domain/audit.ts'
import type { Store } from '../../../../src/store/store.ts'
import { loaded, type OpenStore } from '../../../helpers/store/subject.ts'

const ENTRY: NewAuditEntry = {
  kind: 'operator',
  by: 'ann “ü”\n',
  keyId: 1,
  publisher: null,
  act: 'block.add',
  subject: '0xabc',
  client: '127.0.0.1',
  result: 'ok',
}
const WRITE: NewAuditEntry = { ...ENTRY, kind: 'seller', by: null, keyId: null, publisher: '0xabc' }
const BOUNDS: AuditBounds = { maxBytes: 1_000_000, maxAgeMicros: 60_000_000 }

/** Of a size that is easy to add up: a kilobyte and a little. */
const large = (entry: NewAuditEntry, n: number): NewAuditEntry => ({
  ...entry,
  subject: `${n} ${'x'.repeat(900)}`,
})

const numbers = (entries: readonly AuditEntry[]) => entries.map(({ subject }) => Number.parseInt(subject, 10))

async function inPages(store: Store, limit: number): Promise<AuditEntry[]> {
  const all: AuditEntry[] = []
  for (let since = 0; ; ) {
    const page = await store.readAudit(since, limit)
    if (page.length === 0) return all
    all.push(...page)
    since = page.at(-1)!.at
  }
}

export function auditContract(name: string, open: OpenStore): void {
  test(`${name}: acts are kept in order, read in pages, and are no changes of the store`, async (t) => {
    const { store } = await open(t)
    const { position } = await loaded(store)
    const appended = await Promise.all(
      [ENTRY, WRITE, { ...ENTRY, subject: '' }, WRITE, ENTRY].map((one) => store.appendAudit(one, BOUNDS)),
    )
    const sorted = appended.toSorted((a, b) => a.at - b.at)
    t.is(new Set(appended.map(({ at }) => at)).size, 5, 'a time of one entry only')
    t.like(sorted[0], ENTRY)
    t.deepEqual(await store.readAudit(0, 100), sorted)
    for (const limit of [1, 2, 3]) t.deepEqual(await inPages(store, limit), sorted, `${limit}`)
    t.deepEqual(await store.readAudit(null, 2), sorted.slice(-2))
    t.deepEqual(await store.readAudit(sorted.at(-1)!.at, 2), [])
    t.deepEqual((await loaded(store)).changes, [])
    const read = await store.changesAfter(position, 10)
    t.deepEqual(read === 'lost' ? read : read.changes, [])
  })

  test(`${name}: the oldest acts go beyond the bytes, and sellers push no act of an operator out`, async (t) => {
    const { store } = await open(t)
    const bounds = { ...BOUNDS, maxBytes: 5_000 }
    for (let n = 0; n < 3; n++) await store.appendAudit(large(ENTRY, n), bounds)
    for (let n = 10; n < 30; n++) await store.appendAudit(large(WRITE, n), bounds)
    t.deepEqual(numbers(await store.readAudit(0, 100)), [0, 1, 2, 26, 27, 28, 29])
    for (let n = 3; n < 6; n++) await store.appendAudit(large(ENTRY, n), bounds)
    t.deepEqual(numbers(await store.readAudit(0, 100)), [2, 26, 27, 28, 29, 3, 4, 5])
  })

  test(`${name}: acts that are too old go with the next one of either kind`, async (t) => {
    const { store } = await open(t)
    await store.appendAudit(WRITE, BOUNDS)
    await store.appendAudit(ENTRY, BOUNDS)
    const { at } = await store.appendAudit(ENTRY, { ...BOUNDS, maxAgeMicros: 0 })
    t.deepEqual(
      (await store.readAudit(0, 100)).map((one) => one.at),
      [at],
    )
  })
}
