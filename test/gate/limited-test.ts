import test from 'ava'
import pLimit from 'p-limit'

/** Tests of a group that run at once. Many more would delay each other beyond the time limits that they are about. */
const AT_ONCE = 6

const limit = pLimit(AT_ONCE)

/** The runner's `test`, for files of a group: a test begins when one before it has ended. A macro begins at once. */
const limited = ((...given: Parameters<typeof test>) => {
  const [title, implementation] = given as unknown[]
  if (typeof title !== 'string' || typeof implementation !== 'function') return test(...given)
  return test(title, (t) => limit(async () => void (await implementation(t))))
}) as typeof test

export default Object.assign(limited, test)
