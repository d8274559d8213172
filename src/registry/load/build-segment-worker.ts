import { workerData } from 'node:worker_threads'
import type { PackedListings } from '../../domain/listing.ts'
import type { SegmentData } from '../../listing-index/segment.ts'
import { serveTasks } from '../worker-pool.ts'
import { buffersIn, buildSegment, type SegmentSettings } from './build-segment.ts'

serveTasks((pages: readonly PackedListings[]): SegmentData => {
  const steps = buildSegment(workerData as SegmentSettings, pages)
  for (;;) {
    const { done, value } = steps.next()
    if (done) return value
  }
}, buffersIn)
