import type { OpenStore } from '../../helpers/store/subject.ts'
import { auditContract } from './contract/audit.ts'
import { blockContract } from './contract/blocks.ts'
import { changelogContract } from './contract/changelog.ts'
import { equivalenceContract } from './contract/equivalence.ts'
import { feedContract, sharedFeedContract } from './contract/feed.ts'
import { keyContract } from './contract/keys.ts'
import { publishingContract } from './contract/publishing.ts'
import { replayContract } from './contract/replays.ts'
import { sharingContract } from './contract/sharing.ts'
import { signedWriteContract } from './contract/signed-writes.ts'

/** Registers the tests that every store has to pass. `numRuns` bounds the random command sequences. */
export function storeContract(name: string, open: OpenStore, numRuns: number): void {
  publishingContract(name, open)
  replayContract(name, open)
  signedWriteContract(name, open)
  keyContract(name, open)
  blockContract(name, open)
  auditContract(name, open)
  changelogContract(name, open)
  feedContract(name, open)
  equivalenceContract(name, open, numRuns)
}

/** The same, and what holds for a store whose data outlives it and can be opened more than once. */
export function sharedStoreContract(name: string, open: OpenStore, numRuns: number): void {
  storeContract(name, open, numRuns)
  sharingContract(name, open)
  sharedFeedContract(name, open)
}
