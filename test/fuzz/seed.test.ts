import test from 'ava'
import fc from 'fast-check'

test('property tests have a fixed seed, and a failure prints it', (t) => {
  const { seed } = fc.readConfigureGlobal()
  if (process.env.PROPERTY_SEED === undefined) t.is(seed, 20_261_121)
  const failing = fc.property(fc.nat(), () => false)
  t.throws(() => fc.assert(failing), { message: new RegExp(`seed: ${seed}\\b`) })
})
