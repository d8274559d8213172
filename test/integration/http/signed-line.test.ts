import test from 'ava'
import { startRegistry } from '../../helpers/registry.ts'
import { outcomeOf, READ_FORMS, READ_REFUSALS, type SignedCase } from '../../helpers/signed-cases.ts'
import type { Party } from '../../helpers/signed-line.ts'
import { authorityEnvironment } from '../../helpers/signed-reader.ts'
import { startSignedRegistry } from '../../helpers/signed-registry.ts'
import { REPLAYS, ROTATIONS, replaysOf, rotationsOf, WRITES } from '../../helpers/signed-write-cases.ts'

/** Each case, and those that were answered otherwise. */
async function differing(url: string, cases: readonly SignedCase[], authority?: Party): Promise<object[]> {
  const found: object[] = []
  for (const one of cases) {
    const outcome = await outcomeOf(url, one, authority)
    if (JSON.stringify(outcome) !== JSON.stringify(one.expected)) found.push({ title: one.title, outcome })
  }
  return found
}

test('signed line: the independent Registry answers every row of reads and writes', async (t) => {
  const { url, identifier } = await startSignedRegistry(t)
  const authority = { scheme: 'ed25519', identifier }
  t.deepEqual(await differing(url, [...READ_REFUSALS, ...READ_FORMS, ...WRITES], authority), [])
  t.deepEqual(await replaysOf(url, authority), REPLAYS)
})

test('signed line: the service answers as the independent Registry does', async (t) => {
  const { url } = await startRegistry(t, { environment: authorityEnvironment(t) })
  t.deepEqual(await differing(url, [...READ_REFUSALS, ...READ_FORMS, ...WRITES]), [])
  t.deepEqual(await replaysOf(url), REPLAYS)
  t.deepEqual(await rotationsOf(url), ROTATIONS)
})
