import test from 'ava'
import { startRegistry } from '../../../helpers/registry.ts'
import { ALICE, BOB, postJson, publish, publishBody } from '../../../helpers/seller.ts'

const H200 = { gpu_model: 'H200', gpu_count: 8, region: 'California, US' }

test('GET /listings: published fields are served with their exact bytes', async (t) => {
  const { url, get } = await startRegistry(t)
  const offer = '{"gpu_model":"H200","sla":99.0,"big":1180591620717411303424,"caf\\u00e9":[1.50, -0.0]}'
  const signed = JSON.stringify(await publishBody(ALICE, { listing_id: 'one' }))
  const body = `${signed.slice(0, -1)}, "offer_resource": ${offer} ,"max_duration_seconds":1180591620717411303424}`
  t.is((await postJson(`${url}/listings`, body)).status, 201)
  const { text } = await get('/listings/one')
  t.true(text.includes(`"offer_resource":${offer},`))
  t.true(text.includes('"max_duration_seconds":1180591620717411303424,'))
  t.true(
    (await get('/listings')).text.includes(text.slice('{"listing":'.length, -1)),
    'the same bytes in a list',
  )
})

test('GET /listings: filters, status, publisher and paging follow the protocol', async (t) => {
  const { url, get } = await startRegistry(t)
  for (const n of [1, 2, 3]) {
    await publish(url, n === 3 ? BOB : ALICE, {
      listing_id: `l${n}`,
      offer_resource: { ...H200, gpu_count: n },
    })
  }
  await publish(url, ALICE, { listing_id: 'shut', offer_resource: H200, status: 'closed' })
  const ids = async (query: string): Promise<unknown> =>
    ((await get(`/listings?${query}`)).json().items as { listing_id: string }[]).map(
      ({ listing_id }) => listing_id,
    )

  t.deepEqual(await ids(''), ['l3', 'l2', 'l1'])
  t.deepEqual(await ids('status='), ['shut', 'l3', 'l2', 'l1'])
  t.deepEqual(await ids('status=closed'), ['shut'])
  t.deepEqual(await ids('gpu_count_min=2'), ['l3', 'l2'])
  t.deepEqual(await ids('gpu_count_min=2&gpu_count_min=3'), ['l3'])
  t.deepEqual(await ids('region=California%2C+US&limit=1&offset=1'), ['l2'])
  t.deepEqual(await ids(`publisher=${BOB.address}`), ['l3'])
  t.deepEqual(await ids('publisher=0x0&banana=1'), [], 'an unknown publisher is answered before the filters')
  t.deepEqual(await ids('banana='), ['l3', 'l2', 'l1'], 'an empty value is no filter')
  t.deepEqual(await ids('limit=999&limit=2'), ['l3', 'l2'])
  const past = (await get('/listings?offset=10')).json()
  t.deepEqual(past, { items: [], count: 0, total_after_filter: 3 })
})

const REFUSED_READS: [query: string, status: number, detail: RegExp][] = [
  ['banana=1', 400, /^unknown filter: 'banana'$/],
  ['gpu_model=not_in:[H200]', 400, /declares op='in', URL uses op='not_in'/],
  ['gpu_model=in:[H200', 400, /must be enclosed/],
  ['gpu_count_min=abc', 400, /^gpu_count_min: expected integer, got 'abc'$/],
  ['strict.=true', 400, /missing filter name/],
  ['status=Open', 400, /^Invalid status: Open$/],
  ['limit=0', 422, /greater than or equal to 1/],
  ['limit=201', 422, /less than or equal to 200/],
  ['limit=abc', 422, /valid integer/],
  ['limit=', 422, /valid integer/],
  ['limit=1e1', 422, /valid integer/],
  ['offset=-1', 422, /greater than or equal to 0/],
]

test('GET /listings: a query that is wrong is refused with its parameter and reason', async (t) => {
  const { get } = await startRegistry(t)
  for (const [query, status, detail] of REFUSED_READS) {
    const reply = await get(`/listings?${query}`)
    t.is(reply.status, status, query)
    t.is(reply.headers.get('content-type'), 'application/problem+json; charset=utf-8')
    const problem = reply.json()
    t.regex(problem.detail as string, detail, query)
    t.is(problem.status, status)
    if (status === 422) t.is((problem.errors as { path: string }[])[0]?.path, `query.${query.split('=')[0]}`)
  }
})

test('If-Match: 412 with the current etag unless it names the current filter spec', async (t) => {
  const { get } = await startRegistry(t)
  const { etag } = (await get('/filter-spec')).json() as { etag: string }
  for (const tag of [etag, `"${etag}"`, `W/"${etag}"`, `W/${etag}`]) {
    t.is((await get('/listings', { 'If-Match': tag })).status, 200, tag)
  }
  for (const tag of ['*', '"0"', `"${etag}", "0"`, etag.toUpperCase()]) {
    const reply = await get('/listings?status=Nope&banana=1', { 'If-Match': tag })
    t.is(reply.status, 412, `${tag} precedes the 400s`)
    t.is(reply.json().current_etag, etag)
  }
  t.is((await get('/listings?limit=0', { 'If-Match': '"0"' })).status, 422, 'and follows the 422s')
})
