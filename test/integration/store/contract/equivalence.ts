import test from 'ava'
import fc from 'fast-check'
import type { Store } from '../../../../src/store/store.ts'
import { runs } from '../../../helpers/runs.ts'
import { Picture } from '../../../helpers/store/picture.ts'
import { loaded, type OpenStore, replayed } from '../../../helpers/store/subject.ts'
import { commandsBy, WILD } from './commands.ts'
import { Model } from './model.ts'

/** Any sequence of commands: same answers and same end as the model's, and every replay leads to that end. */
export function equivalenceContract(name: string, open: OpenStore, numRuns: number): void {
  test(`${name}: random mutations answer as the model, and any replay ends like it`, async (t) => {
    const commands = fc.array(commandsBy(WILD), { minLength: 1, maxLength: 40 })
    const property = fc.asyncProperty(commands, fc.integer({ min: 1, max: 5 }), async (commands, limit) => {
      const { store } = await open(t)
      const model = new Model()
      const answers: unknown[] = []
      const expected: unknown[] = []
      const past = [{ picture: new Picture(), position: (await loaded(store)).position }]
      for (const apply of commands) {
        answers.push(await apply(store))
        expected.push(await apply(model))
        past.push(await following(store, past.at(-1)!))
      }
      const end = (await Picture.of(store)).sorted()
      t.deepEqual(timesAsRanks([answers, end]), timesAsRanks([expected, model.sorted()]))
      for (const one of past) t.deepEqual((await following(store, one, limit)).picture.sorted(), end)
      await store.close()
    })
    await fc.assert(property, { numRuns: runs(numRuns) })
  })
}

type Reading = { picture: Picture; position: string }

async function following(store: Store, { picture, position }: Reading, limit = 1000): Promise<Reading> {
  const next = new Picture(picture)
  const read = await replayed(store, position, limit)
  for (const change of read.changes) next.apply(change)
  return { picture: next, position: read.position }
}

const TIMES = ['createdAt', 'updatedAt', 'revokedAt']

/** Replaces each time by its place among all of them, since the model has its own clock. */
export function timesAsRanks(value: unknown): unknown {
  const times = new Set<number>()
  JSON.stringify(value, (key, it) => {
    if (TIMES.includes(key) && typeof it === 'number') times.add(it)
    return it
  })
  const ranks = new Map([...times].sort((a, b) => a - b).map((time, rank) => [time, rank]))
  return JSON.parse(JSON.stringify(value, (key, it) => (TIMES.includes(key) ? (ranks.get(it) ?? null) : it)))
}
