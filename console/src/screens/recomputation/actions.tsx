import { answer } from '../../api/answer.ts';
import { useChange } from '../../api/change.ts';
import { admin } from '../../api/client.ts';
import type { AdminRead } from '../../api/queries.ts';
import { ConfirmedButton } from '../../ui/confirmed.tsx';
import { counted } from '../../ui/format.ts';

type Recomputation = AdminRead<'/v1/recomputations/{id}'>;

/** The actions that a recomputation's status allows. */
export function RecomputationActions({ recomputation }: { recomputation: Recomputation }) {
  const { id, status, figures, outcome } = recomputation;
  const path = { params: { path: { id } } };
  const apply = useChange({ run: () => answer(admin.POST('/v1/recomputations/{id}/apply', path)) });
  const revert = useChange({ run: () => answer(admin.POST('/v1/recomputations/{id}/revert', path)) });
  const cancel = useChange({
    run: () => answer(admin.POST('/v1/recomputations/{id}/cancel', path)),
    done: 'The recomputation is cancelled.',
  });
  return (
    <>
      {status === 'planned' && (
        <ConfirmedButton
          look="primary"
          change={apply}
          title="Apply the preview?"
          action="Apply"
          about={`Applies exactly what is shown: gains for ${counted(figures.gaining, 'user')}, losses for ${counted(figures.losing, 'user')}. You can revert all of it.`}
        >
          Apply the preview
        </ConfirmedButton>
      )}
      {outcome.applied > 0 && (status === 'applied' || status === 'cancelled' || status === 'failed') && (
        <ConfirmedButton
          look="danger"
          change={revert}
          title="Revert the recomputation?"
          action="Revert"
          about={`Reverts it for ${counted(outcome.applied, 'user')}: points are corrected by new entries, never below 0. Achievements that it completed are revoked, and those that it revoked return.`}
        >
          Revert
        </ConfirmedButton>
      )}
      {(status === 'planning' || status === 'planned' || status === 'applying') && (
        <ConfirmedButton
          change={cancel}
          title="Cancel the recomputation?"
          action="Cancel the recomputation"
          about="It stops. What it has applied so far stays, and can be reverted."
        >
          Cancel
        </ConfirmedButton>
      )}
    </>
  );
}
