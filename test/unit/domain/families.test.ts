import test from 'ava'
import { groupFamilies } from '../../../src/domain/families.ts'

const machine = (id: string, region: string | null, more = {}) => ({
  listing_id: id,
  offer_resource: { gpu_model: 'A100', region, ...more },
  accepted_escrows: [{ rates: [{ value: '1' }] }],
  created_at: id,
})

test('families: the same terms of one publisher in different regions, first members in order', (t) => {
  const rows = [
    { id: 'a', listing: machine('a', 'x'), publisher: '1' },
    { id: 'b', listing: machine('b', 'y', { ram_gb: 1 }), publisher: '1' },
    { id: 'c', listing: machine('c', 'y', { resource_id: 'r' }), publisher: '1' },
    { id: 'd', listing: machine('d', 'z'), publisher: '2' },
    { id: 'e', listing: machine('e', 'x'), publisher: '1' },
    { id: 'f', listing: machine('f', 'y'), publisher: '1' },
    { id: 'g', listing: machine('g', null), publisher: '1' },
    { id: 'h', listing: { ...machine('h', 'z'), accepted_escrows: [] }, publisher: '1' },
  ]
  const ids = groupFamilies(rows, (row) => row).map((family) => family.map(({ id }) => id).join(''))
  t.deepEqual(ids, ['ac', 'b', 'd', 'ef', 'g', 'h'])
})
