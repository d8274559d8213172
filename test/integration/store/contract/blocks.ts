import test from 'ava'
import type { NewBlock } from '../../../../src/domain/block.ts'
import { loaded, type OpenStore } from '../../../helpers/store/subject.ts'

const BLOCK: NewBlock = {
  subject: { kind: 'publisher', publisher: `0x${'a'.repeat(40)}` },
  source: null,
  reason: 'took the deposit, “ticket 812”\n',
  by: 'operator',
  until: null,
}

export function blockContract(name: string, open: OpenStore): void {
  test(`${name}: blocks are numbered in order, part of a load, and followed by others`, async (t) => {
    const { store } = await open(t)
    const { position } = await loaded(store)
    const first = await store.addBlock(BLOCK)
    const second = await store.addBlock({ ...BLOCK, source: 'eu', until: 5 })
    t.like(first, { ...BLOCK, endedAt: null })
    t.true(second.id > first.id && second.createdAt > first.createdAt)
    const blocks = [
      { kind: 'block', block: first },
      { kind: 'block', block: second },
    ]
    t.deepEqual((await loaded(store)).changes, blocks)
    const read = await store.changesAfter(position, 100)
    t.deepEqual(read === 'lost' ? read : read.changes, blocks)
  })

  test(`${name}: the end of a block stays, and is a change`, async (t) => {
    const { store } = await open(t)
    const { id } = await store.addBlock(BLOCK)
    const { position } = await loaded(store)
    const ended = await store.endBlock(id)
    t.true(ended!.endedAt! > ended!.createdAt)
    t.deepEqual(await store.endBlock(id), ended)
    const read = await store.changesAfter(position, 100)
    t.deepEqual(read === 'lost' ? read : read.changes, [{ kind: 'block', block: ended }])
    t.is(await store.endBlock(id + 1), null)
  })

  test(`${name}: a block with a time ends when the store's clock has passed it, not before`, async (t) => {
    const { store } = await open(t)
    const due = await store.addBlock({ ...BLOCK, until: 1 })
    const later = await store.addBlock({ ...BLOCK, until: Number.MAX_SAFE_INTEGER })
    const endless = await store.addBlock(BLOCK)
    t.true((await store.endBlock(due.id, true))!.endedAt !== null)
    t.is((await store.endBlock(later.id, true))!.endedAt, null)
    t.is((await store.endBlock(endless.id, true))!.endedAt, null)
  })
}
