import type { OpenStore } from '../../helpers/store/subject.ts'
import { auditContract } from './contract/audit.ts'
import { changelogContract } from './contract/changelog.ts'
import { equivalenceContract } from './contract/equivalence.ts'
import { feedContract } from './contract/feed.ts'
import { rulesContract } from './contract/rules.ts'
import { sharingContract } from './contract/sharing.ts'

/** Registers the tests that every store has to pass. `numRuns` bounds the random command sequences. */
export function storeContract(name: string, open: OpenStore, numRuns: number): void {
  rulesContract(name, open)
  auditContract(name, open)
  changelogContract(name, open)
  feedContract(name, open)
  sharingContract(name, open)
  equivalenceContract(name, open, numRuns)
}
