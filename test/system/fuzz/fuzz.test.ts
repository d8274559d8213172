import test from 'ava'
import fc from 'fast-check'
import { startVictim } from './attack.ts'

/** `npm run fuzz` is the long run of the same. */
const REQUESTS = 300
const SIGNED_REQUESTS = 100
const SEED = 20_261_121

test('fuzz: no request gets a 500 or a response that OpenAPI does not announce', async (t) => {
  const victim = await startVictim()
  t.teardown(victim.end)
  t.deepEqual(await victim.attack(REQUESTS, SEED), [], `seed ${SEED}`)
  t.deepEqual(await victim.attack(SIGNED_REQUESTS, SEED, 'signed'), [], `seed ${SEED}`)
  t.true(await victim.isWell())
})

test('property tests have a fixed seed, and a failure prints it', (t) => {
  const { seed } = fc.readConfigureGlobal()
  if (process.env.PROPERTY_SEED === undefined) t.is(seed, 20_261_121)
  const failing = fc.property(fc.nat(), () => false)
  t.throws(() => fc.assert(failing), { message: new RegExp(`seed: ${seed}\\b`) })
})
