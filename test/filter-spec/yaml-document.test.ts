import test from 'ava'
import { canonicalJson } from '../../src/filter-spec/etag.ts'
import { readYaml } from '../../src/filter-spec/yaml-document.ts'

/** Plain scalars and what PyYAML 6.0.3's `safe_load` makes of them, as Python dumps it. */
const readings: Record<string, string[]> = {
  true: ['yes', 'Yes', 'on', 'true', 'TRUE'],
  false: ['no', 'NO', 'Off', 'False'],
  null: ['~', 'null', 'Null', ''],
  '"y"': ['y'],
  '"n"': ['n'],
  '"tRue"': ['tRue'],
  '8': ['010', '0b1000', '0x8', '+8', '!!int 8'],
  '7': ['0_7', '007'],
  '-31': ['-0x1f'],
  '0': ['0', '-0', '00'],
  '"08"': ['08'],
  '"0o10"': ['0o10'],
  '1000': ['1_000'],
  '"_1"': ['_1'],
  '90': ['1:30'],
  '-90': ['-1:30'],
  '90.5': ['1:30.5'],
  '"12:61"': ['12:61'],
  '"1e3"': ['1e3'],
  '"1.0e3"': ['1.0e3'],
  '1000.0': ['1.0e+3', '1.e+3', '1_000.'],
  '1.0': ['1.0', '1.'],
  '-0.0': ['-0.0'],
  '0.5': ['.5'],
  '"-.5"': ['-.5'],
  '1e-05': ['1.0e-5'],
  '685230.15': ['685_230.15'],
  '123456789012345678901234567890': ['123456789012345678901234567890'],
  '"NaN"': ['NaN'],
  '"123"': ['!!str 123', '"123"', "'123'"],
  '"2026-11-20"': ["'2026-11-20'", '!!str 2026-11-20'],
  '"."': ['.'],
  '"-"': ["'-'"],
  '"="': ["'='"],
}

for (const [json, texts] of Object.entries(readings)) {
  for (const text of texts) {
    test(`YAML 1.1 reads ${text === '' ? 'nothing' : text} as ${json}`, (t) => {
      const reading = readYaml(`v: ${text}`)
      t.is('value' in reading ? canonicalJson(reading.value) : reading.problems, `{"v":${json}}`)
    })
  }
}

test('YAML: a directive for another version changes nothing', (t) => {
  t.deepEqual(readYaml('%YAML 1.2\n---\nv: yes'), { value: { v: true } })
})
