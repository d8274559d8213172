import test from 'ava'
import { createClient, IncompleteError, ProblemError } from '../../../src/client/client.ts'
import { listingTexts } from '../../helpers/fake-registry.ts'
import { scriptAnswers } from '../../helpers/scripted-answers.ts'
import { ALICE } from '../../helpers/seller.ts'

test('client: an answer that is not a whole page is an error, not an end', async (t) => {
  const page = '{"items":[],"count":0,"total_after_filter":0'
  for (const [body, message] of [
    ['<html>login</html>', /HTTP 200: not a Registry's answer/],
    ['[]', /HTTP 200: not a Registry's answer/],
    ['{"total_after_filter":0}', /not a list of listings/],
    ['{"items":[]}', /not a list of listings/],
    ['{"items":[{}],"total_after_filter":1}', /not a list of listings/],
    [`${page},"sources":[]}`, /not complete/],
    [`${page},"complete":"yes","sources":[]}`, /not complete/],
    [`${page},"complete":true,"sources":[],"next_cursor":"again"}`, /100 pages in a row/],
  ] as const) {
    const { url } = scriptAnswers(t, () => [200, body])
    await t.throwsAsync(Array.fromAsync(createClient({ url }).listings()), { message }, body)
  }
})

test('client: pages of a Registry that leave a gap, or repeat, are not complete', async (t) => {
  const texts = listingTexts('a', 30)
  const page = (from: number, to: number, total: number): string => {
    const items = texts.slice(from, to)
    return `{"items":[${items}],"count":${items.length},"total_after_filter":${total}}`
  }
  for (const [name, isComplete, ...script] of [
    ['4 of 30 were removed, which the overlap covers', true, page(0, 20, 30), page(14, 30, 26)],
    ['`offset` is ignored', false, page(0, 20, 30), page(0, 20, 30)],
    ['the second page is empty', false, page(0, 20, 30), page(30, 30, 30)],
    ['the first page is empty', false, page(0, 0, 30)],
    ['a small page, then an empty one', false, page(0, 1, 30), page(30, 30, 30)],
  ] as const) {
    const { url } = scriptAnswers(t, (_, n) => [200, script[Math.min(n, script.length) - 1]!])
    const walk = Array.fromAsync(createClient({ url }).listings())
    if (isComplete) t.is((await walk).length, 30, name)
    else await t.throwsAsync(walk, { instanceOf: IncompleteError }, name)
  }
})

test('client: a refusal of any form is a problem with its status and words', async (t) => {
  const problem = { type: 'urn:entrepot:problem:rate_limited', title: 'Too Many', detail: 'slower' }
  for (const [status, body, headers, expected] of [
    [
      429,
      JSON.stringify(problem),
      { 'retry-after': '7' },
      { type: problem.type, detail: 'slower', retryAfter: 7 },
    ],
    [422, '{"detail":[{"loc":["query","limit"],"msg":"too large"}]}', {}, { status: 422 }],
    [502, '<html>Bad Gateway</html>', {}, { status: 502 }],
    [404, '{"detail":"Not Found"}', {}, { status: 404, detail: 'Not Found' }],
  ] as const) {
    const { url } = scriptAnswers(t, () => [status, body, headers])
    const error = await t.throwsAsync(createClient({ url }).filterSpec(), { instanceOf: ProblemError })
    t.like(error, { status, ...expected })
  }
})

test('client: a write whose signature was used is signed again, with a later second', async (t) => {
  const reused = JSON.stringify({ type: 'urn:entrepot:problem:signature_reused', detail: 'used' })
  const { url, seen } = scriptAnswers(t, (_, n) => (n === 1 ? [409, reused] : [204, '']))
  await createClient({ url, account: ALICE }).delete('one')
  const [first, second] = seen.map((request) => Number(request.url.searchParams.get('timestamp')))
  t.true(second! > first!)
})
