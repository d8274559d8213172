import test from 'ava'
import { ReplyError } from 'ioredis'
import { redisFailure } from '../../src/store/redis/session.ts'

// As Redis 6.2 words what a command in a script was answered; Redis 7 passes the answer on.
const WRAPPED =
  'ERR Error running script (call to f_2d8a): @user_script:57: @user_script: 57: -READONLY You can’t write against a read only replica.'

test('a refusal within a script makes the store unavailable, with Redis 6.2 as with 7', (t) => {
  for (const message of [WRAPPED, 'READONLY You can’t write against a read only replica.'])
    t.like(redisFailure(new ReplyError(message)), { code: 'unavailable', reason: 'Redis says READONLY' })
})

test('a fault of a script is not taken for an outage', (t) => {
  const fault = new ReplyError(
    'ERR Error running script (call to f_2d8a): @user_script:57: user_script:57: attempt to index a nil value',
  )
  t.is(redisFailure(fault), fault)
})
