import test from 'ava'
import { SEES_ALL } from '../../../src/domain/reader.ts'
import { createVocabularyReport, TEXTS } from '../../../src/gateway/counts/vocabulary-report.ts'
import { CopyIndex } from '../../../src/listing-index/copy-index.ts'
import { fakeItem, fakeSource } from '../../helpers/fake-source.ts'
import { manualClock } from '../../helpers/manual-clock.ts'
import { settingsOver } from '../../helpers/pages.ts'

const NOW = 1_700_000_000_000_000

test('texts are counted once for all who ask, and again after a change; ages are those of each answer', async (t) => {
  const clock = manualClock()
  const source = fakeSource('up', [fakeItem('a', NOW)])
  const report = createVocabularyReport(
    settingsOver([source], { clock, index: new CopyIndex(TEXTS, { tail: 3, segment: 16_384, step: 4096 }) }),
  )
  const [first, second] = await Promise.all([report({ reader: SEES_ALL }), report({ reader: SEES_ALL })])
  t.is(second.gpus, first.gpus)
  clock.advance(7000)
  const later = await report({ reader: SEES_ALL })
  t.is(later.gpus, first.gpus)
  t.is(later.sources[0]!.age_seconds! - first.sources[0]!.age_seconds!, 7)
  source.change((items) => items.push(fakeItem('b', NOW)))
  const changed = await report({ reader: SEES_ALL })
  t.not(changed.gpus, first.gpus)
})
