import test from 'ava'
import { startRegistry } from '../helpers/registry.ts'
import { hasTerminal, runCli, runInTerminal } from '../helpers/run-cli.ts'
import { ALICE, BOB, publish } from '../helpers/seller.ts'

/** The public Anvil account that ALICE is. */
const env = {
  ENTREPOT_PRIVATE_KEY: '5de4111afa1a4b94908f83103eb1f1706367c2e68ca870fc3fb9a804cdab365a',
}
const ONE = '7f0c1c1e-6a0e-4e0b-9a53-0b6a4f7f2a01'
const TWO = '7f0c1c1e-6a0e-4e0b-9a53-0b6a4f7f2a02'
const BARE = 'b7c1f2aa1f0e4f538f1a4a1f6f0c9d02'

test.serial('ids: the unique beginning of an id finds its listing', async (t) => {
  const { url, get } = await startRegistry(t)
  for (const listing_id of [ONE, TWO, BARE, 'listing-10']) await publish(url, ALICE, { listing_id })
  await publish(url, BOB, { listing_id: 'c0ffee00-6a0e-4e0b-9a53-0b6a4f7f2a03' })
  const run = (...args: string[]) => runCli([...args, '-r', url], { env })
  const shown = await run('listing', 'b7c1f2aa…')
  t.is(JSON.parse(shown.stdout).listing_id, BARE)
  t.regex(shown.stderr, new RegExp(`b7c1f2aa is ${BARE}`))
  const several = await run('listing', '7f0c1c1e')
  t.is(several.code, 1)
  t.regex(several.stderr, new RegExp(`^entrepot: 2 ids begin with '7f0c1c1e': ${TWO}, ${ONE}$`, 'm'))
  const short = await run('listing', 'b7c1f2a')
  t.regex(short.stderr, /^entrepot: listing 'b7c1f2a' is not in that Registry$/m)

  t.is((await run('update', 'b7c1f2aa', '--status', 'closed')).code, 0)
  t.is(((await get(`/listings/${BARE}`)).json().listing as { status: string }).status, 'closed')
  t.is((await run('delete', '7f0c1c1e-6a0e')).code, 1)
  t.is((await run('delete', `${ONE.slice(0, -1)}1`)).code, 0)
  t.is((await run('delete', '7f0c1c1e')).code, 0)
  t.is((await get(`/listings/${TWO}`)).status, 404)
  // Chosen ids are taken as they are, and so are those of other wallets.
  for (const id of ['listing-1', 'c0ffee00']) t.is((await run('delete', id)).code, 1, id)
  t.is((await get('/listings/listing-10')).status, 200)
})

const withTerminal = hasTerminal ? test.serial : test.skip

withTerminal('mine: ids are never cut, however narrow the terminal is', async (t) => {
  const { url } = await startRegistry(t)
  await publish(url, ALICE, { listing_id: ONE, status: 'closed' })
  const { stdout } = await runInTerminal(['mine', '-r', url], { env, columns: 60 })
  t.regex(stdout, new RegExp(`${ONE} +closed +\\d+s +127`))
})
