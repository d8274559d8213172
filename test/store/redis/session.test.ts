import test from 'ava'
import { ReplyError } from 'ioredis'
import { redisFailure } from '../../../src/store/redis/session.ts'

// As Redis 6.2 words what a command in a script was answered; Redis 7 passes the answer on.
const WRAPPED =
  'ERR Error running script (call to f_2d8a): @user_script:57: @user_script: 57: -READONLY You can’t write against a read only replica.'

test('Redis errors: a state refused within a script is unavailable, on 6.2 and 7', (t) => {
  for (const message of [WRAPPED, 'READONLY You can’t write against a read only replica.'])
    t.like(redisFailure(new ReplyError(message)), { code: 'unavailable', reason: 'Redis answered READONLY' })
})

test("Redis errors: a script's own fault is not an outage", (t) => {
  const fault = new ReplyError(
    'ERR Error running script (call to f_2d8a): @user_script:57: user_script:57: attempt to index a nil value',
  )
  t.is(redisFailure(fault), fault)
})
