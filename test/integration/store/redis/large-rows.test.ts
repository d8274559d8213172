import test from 'ava'
import { redisClient, redisStore, startRedis } from '../../../helpers/redis.ts'
import { Picture } from '../../../helpers/store/picture.ts'
import { loaded, published, publishOf, replayed } from '../../../helpers/store/subject.ts'

/** Redis closes a connection with more than this to send. One answer with all rows would be four times as large. */
const MOST_TO_SEND = '16mb'
const LISTINGS = 1100
const LARGE = JSON.stringify({ note: 'x'.repeat(60_000) })

const redis = await startRedis({ 'client-output-buffer-limit': `normal ${MOST_TO_SEND} 0 0` })
test.after.always(() => redis.dispose())

test.serial('Redis load: large rows are read in replies of a few MiB', async (t) => {
  const store = await redisStore(t, redis.url)
  const { position } = await loaded(store)
  for (let n = 0; n < LISTINGS; n++)
    await published(
      store,
      publishOf(`L${n}`, {
        identity: { scheme: 'eip191', identifier: `0x${n}` },
        fields: { offerResource: LARGE },
      }),
    )
  const { changes } = await loaded(store)
  t.is(changes.length, LISTINGS * 2)
  const picture = new Picture()
  for (const change of (await replayed(store, position, 2 * LISTINGS)).changes) picture.apply(change)
  t.deepEqual(picture.sorted(), (await Picture.of(store)).sorted())
})

test.serial('Redis load: a load waits longer for Redis than a write', async (t) => {
  const store = await redisStore(t, redis.url, { prefix: '{entrepot-slow}:' })
  await published(store, publishOf('L'))
  const operator = redisClient(t, redis.url)
  await operator.client('PAUSE', 3500, 'ALL')
  const loading = loaded(store)
  await t.throwsAsync(store.ping(), { code: 'unavailable', message: /Redis does not answer/ })
  t.is((await loading).changes.length, 2)
})
