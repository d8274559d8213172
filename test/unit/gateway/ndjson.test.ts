import test from 'ava'
import type { BlockSubject } from '../../../src/domain/block.ts'
import { Emitter } from '../../../src/domain/emitter.ts'
import { fakeItem, fakeSource } from '../../helpers/fake-source.ts'
import { gatewayOver, TOKENS } from '../../helpers/pages.ts'

const [ALICE, CAROL] = ['0xa', '0xc']
/** About fifteen of them fill a chunk, which is sent before the next one is made. */
const PAD = 'x'.repeat(4096)
/** More than one batch. */
const LISTINGS = 400

/** A source of which Carol has every second listing, over rules that `block` changes. */
function openRestricted() {
  const items = Array.from({ length: LISTINGS }, (_, n) =>
    fakeItem(`L${n}`, 1000 - n, { offer: { PAD }, publisher: n % 2 === 0 ? ALICE : CAROL }),
  )
  const source = fakeSource('eu', items)
  const changes = new Emitter<void>()
  const blocks: { id: number; subjects: BlockSubject[]; source: string | null }[] = []
  const block = (publisher: string, of: string | null = null): void => {
    blocks.push({ id: blocks.length + 1, subjects: [{ kind: 'publisher', publisher }], source: of })
    changes.emit()
  }
  const curation = { rules: [], blocks: () => blocks, onChange: changes.listen }
  return { gateway: gatewayOver([source], { curation }), block }
}

const BY_PRICE = { tokens: [...TOKENS.named('USDC', false)], per: 'gpu' } as const

for (const byPrice of [undefined, BY_PRICE])
  test(`NDJSON: a block that begins meanwhile holds from the next chunk on, and the last line says so, ${byPrice ? 'by price' : 'newest first'}`, async (t) => {
    const { gateway, block } = openRestricted()
    let chunks = 0
    const lines = await gateway.lines(byPrice ? { byPrice } : {}, () => {
      if (++chunks === 1) block(CAROL)
    })
    const last = lines.pop() as { _meta: { rules_changed?: boolean; sources: { returned: number }[] } }
    const publishers = lines.map(({ _meta }) => (_meta as { publisher: string }).publisher)
    t.true(publishers.includes(CAROL), 'the first chunk')
    t.true(publishers.lastIndexOf(CAROL) < 20)
    t.is(publishers.filter((one) => one === ALICE).length, LISTINGS / 2)
    t.is(last._meta.rules_changed, true)
    t.is(last._meta.sources[0]!.returned, lines.length)
  })

test('NDJSON: a block in another source changes no line of the stream', async (t) => {
  const { gateway, block } = openRestricted()
  const lines = await gateway.lines({}, () => block(CAROL, 'open'))
  t.is(lines.length, LISTINGS + 1)
  t.false('rules_changed' in (lines.at(-1)!._meta as object))
})
