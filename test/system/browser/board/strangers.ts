import { openWatched } from '../../../helpers/browser-page.ts'
import { listingText } from '../../../helpers/fake-registry.ts'
import { startFake, startGateway } from '../../../helpers/gateway.ts'
import { test } from '../in-chromium.ts'
import { waitForCount } from './federation.ts'

/** Known attacks on pages that show untrusted text. */
const PAYLOADS = [
  '<script>window.pwned=1;alert(1)</script>',
  '<img src=x onerror="window.pwned=1;alert(1)">',
  '"><svg/onload=alert(1)>',
  "'-alert(1)-'",
  '</title></style></textarea><iframe srcdoc="<script>parent.pwned=1</script>">',
  'javascript:alert(1)',
  ' java\nscript:alert(1)',
  'data:text/html,<script>alert(1)</script>',
  '{{constructor.constructor("alert(1)")()}}',
  '${alert(1)}',
  '<a href="https://evil.example" style="position:fixed;inset:0">',
  '\u202e\u2066gnp.exe\u2069\u0000\u001b[2J',
  'x'.repeat(2_000),
]

function hostileListing(payload: string, n: number): string {
  const node = {
    type: 'img',
    props: { src: 'x', onerror: 'alert(1)' },
    key: null,
    ref: null,
    constructor: undefined,
  }
  return listingText({
    listing_id: `${n} ${payload.replace(/[\u0000-\u001f]/g, ' ')}`.slice(0, 190),
    storefront_url: payload,
    offer_resource: {
      gpu_model: payload,
      gpu_count: node,
      region: payload,
      description: payload,
      [payload]: payload,
      __html: payload,
      dangerouslySetInnerHTML: { __html: payload },
    },
    accepted_escrows: [
      {
        chain_name: payload,
        escrow_address: payload,
        literal_fields: { token: payload },
        rates: [{ field: 'amount', per: payload, value: '7' }],
      },
    ],
    demands: [{ arbiter: payload }],
    oracle_address: payload,
    publisher_id: payload,
    created_at: `2026-11-20T15:33:${String(59 - n).padStart(2, '0')}.000000`,
  })
}

const HOSTILE_SPEC = {
  version: 1,
  etag: '<b>',
  listing_shape: {},
  filters: PAYLOADS.flatMap((name) =>
    ['in', 'not_in', 'range', 'exists'].map((op) => ({
      name: `${op} ${name}`,
      path: '$.x',
      op,
      value_type: op === 'range' ? 'integer' : 'string',
      alias_kind: null,
      on_missing: 'fail',
      indexed: false,
    })),
  ),
}

test.serial('board: text of a hostile upstream stays text, wherever it is shown', async (t) => {
  const fake = await startFake(t, { items: PAYLOADS.map(hostileListing), filterSpec: HOSTILE_SPEC })
  const gateway = await startGateway(t, [{ name: 'evil', url: fake.url }])
  const page = await openWatched(t, t.context.browser, `${gateway.url}/`)
  await waitForCount(page, `${PAYLOADS.length} listings`)
  await page.getByText('More filters').click()
  t.true((await page.getByText('from evil').count()) > 20)
  for (let n = 0; n < PAYLOADS.length; n++) {
    await page.locator('.open').nth(n).click()
    await page.getByRole('dialog').waitFor()
    const links = (await page.evaluate('[...document.links].map(({ href }) => href)')) as string[]
    t.deepEqual(
      links.filter((link) => !/^https?:/.test(link)),
      [],
    )
    await page.keyboard.press('Escape')
    await page.waitForURL(({ hash }) => hash === '')
  }
  const everywhere = PAYLOADS.slice(0, -1).flatMap((payload) => [
    [payload, payload],
    ['status', payload],
  ])
  for (const query of [everywhere.slice(0, 1), everywhere]) {
    const [payload = ''] = query.at(-1) ?? []
    const hash = new URLSearchParams({ listing: payload, registry: payload })
    await page.goto(`${gateway.url}/?${new URLSearchParams(query)}#${hash}`)
    await page.getByRole('alert').first().waitFor()
  }
  t.is(await page.evaluate('window.pwned'), undefined)
  t.is(await page.locator('iframe, main img, main script, dialog img').count(), 0)
  t.notRegex(await page.content(), /[\u202e\u2066\u0000\u001b]/)
  t.deepEqual(page.faults, [], 'nothing ran, and nothing had to be blocked')
})
