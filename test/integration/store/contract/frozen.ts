import { hash } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import test from 'ava'
import fc from 'fast-check'
import { Picture } from '../../../helpers/store/picture.ts'
import type { OpenStore } from '../../../helpers/store/subject.ts'
import { CALM, commandsBy } from './commands.ts'
import { timesAsRanks } from './equivalence.ts'

/**
 * Of each group of random commands the hash of its answers and of what the store has at its end, as the store before one format of
 * rows gave them. `FREEZE=1` writes them.
 */
const FILE = new URL('../../../fixtures/stores/answers.json', import.meta.url)
const SEED = 20_261_128
/** Of some twenty commands each, on a store of their own. */
const SEQUENCES = 5000
const GROUP = 50
const commands = fc.array(commandsBy(CALM), { minLength: 1, maxLength: 40, size: 'max' })

/** The first `groups` of a hundred groups; all of them have some 100,000 commands. */
export function frozenContract(name: string, open: OpenStore, groups: number): void {
  const count = process.env.PROPERTY_RUNS === 'full' ? SEQUENCES / GROUP : groups
  const sequences = fc.sample(commands, { seed: SEED, numRuns: count * GROUP })
  const frozen: string[] = process.env.FREEZE === '1' ? [] : JSON.parse(readFileSync(FILE, 'utf8'))
  for (let group = 0; group < count; group++)
    test(`${name}: random mutations answer as the stores before did, group ${group}`, async (t) => {
      const all = []
      for (const sequence of sequences.slice(group * GROUP, (group + 1) * GROUP)) {
        const { store } = await open(t)
        const answers = []
        for (const apply of sequence) answers.push(await apply(store))
        all.push(timesAsRanks([answers, (await Picture.of(store)).sorted()]))
        await store.close()
      }
      const digest = hash('sha256', JSON.stringify(all, sortedMembers)).slice(0, 16)
      if (process.env.FREEZE === '1') frozen[group] = digest
      t.is(digest, String(frozen[group]))
    })
  if (process.env.FREEZE === '1')
    test.after(() => {
      if (frozen.length > 0) writeFileSync(FILE, `${JSON.stringify(frozen, null, 2)}\n`)
    })
}

/** Stores give the members of a row in orders of their own. */
const sortedMembers = (_: string, value: unknown): unknown =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
    ? Object.fromEntries(Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1)))
    : value
