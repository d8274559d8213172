import test from 'ava'
import { SharedParts } from '../../src/context/shared-parts.ts'

function counted() {
  const seen = { opened: 0, closed: 0 }
  const open = async () => ({
    value: ++seen.opened,
    close: () => {
      seen.closed++
    },
  })
  return { seen, open }
}

test('a part is opened once for all holders, and closed when the last one closes it', async (t) => {
  const parts = new SharedParts()
  const { seen, open } = counted()
  const [one, other] = await Promise.all([parts.hold('part', open), parts.hold('part', open)])
  t.deepEqual([one.value, other.value], [1, 1])
  await one.close()
  await one.close()
  t.deepEqual(seen, { opened: 1, closed: 0 }, 'closing twice counts once')
  await other.close()
  t.deepEqual(seen, { opened: 1, closed: 1 })
  t.is((await parts.hold('part', open)).value, 2, 'it is opened again after that')
})

test('other keys are other parts', async (t) => {
  const parts = new SharedParts()
  const { seen, open } = counted()
  await (await parts.hold('a', open)).close()
  await parts.hold('b', open)
  t.deepEqual(seen, { opened: 2, closed: 1 })
})

test('a part that could not be opened is opened again', async (t) => {
  const parts = new SharedParts()
  const { open } = counted()
  const fail = async () => {
    throw new Error('cannot be opened')
  }
  await t.throwsAsync(parts.hold('part', fail), { message: 'cannot be opened' })
  t.is((await parts.hold('part', open)).value, 1)
})
