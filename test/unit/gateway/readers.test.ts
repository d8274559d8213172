import test from 'ava'
import { ANONYMOUS, OPERATOR } from '../../../src/domain/api-key.ts'
import { maySee } from '../../../src/domain/reader.ts'
import { createReaders } from '../../../src/gateway/readers.ts'

const LOCAL = { name: 'local', visibility: 'public', priority: 0 } as const
const EU = { name: 'eu', visibility: 'public', priority: 1 } as const
const INNER = { name: 'inner', visibility: 'private', priority: 2 } as const

test('readers: a private source exists for callers with a key only', (t) => {
  const readers = createReaders({ sources: [LOCAL, EU, INNER] })
  const seen = (caller: typeof ANONYMOUS) =>
    [LOCAL, EU, INNER].filter((source) => maySee(readers.of(caller), source)).map(({ name }) => name)
  t.deepEqual(seen(ANONYMOUS), ['local', 'eu'])
  t.deepEqual(seen(OPERATOR), ['local', 'eu', 'inner'])
  t.deepEqual([readers.keysRevealMore, createReaders({ sources: [LOCAL, EU] }).keysRevealMore], [true, false])
})

test('readers: the digest is of what is seen, its ranks and its tables', (t) => {
  type Sources = Parameters<typeof createReaders>[0]['sources']
  const digest = (sources: Sources, tables: readonly string[]) =>
    createReaders({ sources, tables }).of(ANONYMOUS).digest
  const base = digest([LOCAL, EU], ['spec'])
  t.is(digest([LOCAL, EU, INNER], ['spec']), base)
  const others = [
    digest([LOCAL, EU], ['another spec']),
    digest([LOCAL, { ...EU, priority: 3 }], ['spec']),
    digest([LOCAL], ['spec']),
    createReaders({ sources: [LOCAL, EU, INNER], tables: ['spec'] }).of(OPERATOR).digest,
  ]
  t.is(new Set([base, ...others]).size, 5)
})
