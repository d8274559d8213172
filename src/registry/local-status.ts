import type { SourceStatus } from '../domain/source-status.ts'
import type { FilterSpec } from '../filter-spec/filter.ts'
import type { Replica } from './replica.ts'

export const localStatus =
  (name: string, spec: FilterSpec, replica: Replica): (() => SourceStatus) =>
  () => ({
    name,
    mode: 'local',
    visibility: 'public',
    state: 'loaded',
    ageSeconds: 0,
    lastError: null,
    schemaId: spec.schema?.id ?? null,
    filters: [...spec.filters.keys()],
    listings: replica.projection.listings.count('open'),
  })
