import test from 'ava'
import fc from 'fast-check'
import { shippedVocabulary } from '../../../../src/config/vocabulary.ts'
import type { GpuModel } from '../../../../src/vocabulary/gpus/gpu-model.ts'
import { nameKey, nameParts } from '../../../../src/vocabulary/gpus/name-parts.ts'
import { readGpu } from '../../../../src/vocabulary/gpus/read-gpu.ts'
import { runs } from '../../../helpers/runs.ts'

const table = shippedVocabulary().tables.gpus
const modelOf = (gpu_model: string): string | null => readGpu(table, 'seller', { gpu_model }).model

type Named = { name: string; model: GpuModel }
const named: Named[] = table.models.flatMap((model) =>
  [model.model, ...model.aliases].map((name) => ({ name, model })),
)
const anyNamed = fc.constantFrom(...named)

const separator = fc.constantFrom(' ', '-', '_', '/', '.', ', ', ' - ', '  ', '\u00a0')
const flags = fc.infiniteStream(fc.boolean())

test('gpu names: every name of the table reads as its model, with no variant and no memory of its own', (t) => {
  for (const { name, model } of named) {
    const reading = readGpu(table, 'seller', { gpu_model: name })
    t.is(reading.model, model.model, name)
    t.is(reading.variant, null, name)
    t.deepEqual(reading.memoryGb, model.memoryGb, name)
  }
})

const VENDOR_WORDS: Readonly<Record<string, readonly string[]>> = {
  NVIDIA: ['NVIDIA', 'NVIDIA GeForce', 'NVIDIA Tesla'],
  AMD: ['AMD', 'AMD Instinct', 'Instinct'],
  Intel: ['Intel', 'Intel Habana'],
  Google: ['Google', 'Google Cloud'],
  Tenstorrent: ['Tenstorrent'],
}

test('gpu names: case, separators, vendor words and glued parts change nothing', (t) => {
  const property = fc.property(
    anyNamed,
    fc.nat(),
    fc.infiniteStream(separator),
    flags,
    flags,
    ({ name, model }, n, separators, isGlued, isUpper) => {
      const words = ['', ...VENDOR_WORDS[model.vendor!]!]
      const parts = nameParts(name)!.map(({ text }) => text)
      const glued = parts.reduce((text, part) => {
        const mayGlue = /\d$/.test(text) !== /^\d/.test(part)
        return text + (mayGlue && next(isGlued) ? '' : next(separators)) + part
      })
      const text = `${words[n % words.length]} ${glued}`
      const written = [...text].map((letter) => (next(isUpper) ? letter.toUpperCase() : letter)).join('')
      t.is(modelOf(written), model.model, written)
    },
  )
  t.notThrows(() => fc.assert(property, { numRuns: runs(2000) }))
})

const next = <Value>(stream: Iterator<Value>): Value => stream.next().value as Value

test('gpu names: a second model makes a name unknown, on either side', (t) => {
  const property = fc.property(anyNamed, anyNamed, separator, (first, second, between) => {
    fc.pre(first.model !== second.model)
    t.is(modelOf(first.name + between + second.name), null, `${first.name}${between}${second.name}`)
  })
  t.notThrows(() => fc.assert(property, { numRuns: runs(2000) }))
})

/** Words and numbers that no name has. */
const unknownPart = fc.oneof(
  fc.stringMatching(/^zz[a-z]{0,8}$/),
  fc.constantFrom('77', '123456', 'é', '&', '显卡', 'Laptop', 'Mobile', 'MIG', 'M'),
)

test('gpu names: an unknown word anywhere makes a name unknown', (t) => {
  const property = fc.property(anyNamed, unknownPart, fc.nat(), separator, ({ name }, word, n, between) => {
    const text = withPart(name, word, n, between)
    t.is(modelOf(text), null, text)
  })
  t.notThrows(() => fc.assert(property, { numRuns: runs(2000) }))
})

function withPart(name: string, word: string, n: number, between: string): string {
  const parts = nameParts(name)!.map(({ text }) => text)
  return parts.toSpliced(n % (parts.length + 1), 0, word).join(between)
}

/** Words that separate models. */
const tellingPart = fc.constantFrom('S', 'G', 'D', 'X', 'Ti', 'Super', 'Ada', 'Max-Q')

const keys = new Set(named.map(({ name }) => nameKey(nameParts(name)!)))

test('gpu names: a word that separates models never leaves a model as it was', (t) => {
  const property = fc.property(anyNamed, tellingPart, fc.nat(), separator, (one, word, n, between) => {
    const text = withPart(one.name, word, n, between)
    fc.pre(!keys.has(nameKey(nameParts(text)!)))
    const { model, variant } = readGpu(table, 'seller', { gpu_model: text })
    t.true(model !== one.model.model || variant !== null, text)
  })
  t.notThrows(() => fc.assert(property, { numRuns: runs(2000) }))
})

test('gpu names: memory, form and count of any model are read off', (t) => {
  const property = fc.property(
    fc.constantFrom(...table.models.filter(({ variants }) => variants.length > 0)),
    fc.nat(),
    separator,
    (model, n, between) => {
      const variant = model.variants[n % model.variants.length]!
      const [gb] = variant.memoryGb ?? model.memoryGb
      const texts = [`4x`, model.model, `${gb}GB`, variant.name]
      const reading = readGpu(table, 'seller', { gpu_model: texts.join(between), gpu_count: 4 })
      t.like(reading, { model: model.model, variant: variant.name, memoryGb: [gb] }, texts.join(between))
    },
  )
  t.notThrows(() => fc.assert(property, { numRuns: runs(500) }))
})

class CountingMap<Key, Value> extends Map<Key, Value> {
  lookups = 0
  override get(key: Key): Value | undefined {
    this.lookups++
    return super.get(key)
  }
}

test('gpu names: the steps for a text grow with its length, and more than 200 characters take none', (t) => {
  const byKey = new CountingMap(table.names.byKey)
  const counting = { ...table, names: { ...table.names, byKey } }
  const words = ['a ', '1 ', 'rtx ', 'rtx', 'h100 ', 'rtx 4070 ti ', 'sxm4']
  for (const unit of [...words, '8x', 'x', '9gb', '1.', '®', 'ﷺ'])
    for (const length of [50, 100, 200, 201, 100_000]) {
      byKey.lookups = 0
      readGpu(counting, 'seller', { gpu_model: unit.repeat(length).slice(0, length) })
      t.true(byKey.lookups <= (length > 200 ? 0 : 1 + length * table.names.longest), `${unit} ${length}`)
    }
})
