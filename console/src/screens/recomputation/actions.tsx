import { useState } from 'react';
import { answer } from '../../api/answer.ts';
import { useChange } from '../../api/change.ts';
import { admin } from '../../api/client.ts';
import type { AdminRead } from '../../api/queries.ts';
import { Button } from '../../ui/button.tsx';
import { Confirm } from '../../ui/dialogs.tsx';
import { number } from '../../ui/format.ts';

type Recomputation = AdminRead<'/v1/recomputations/{id}'>;
type Action = 'apply' | 'revert' | 'cancel';

/** What can be done about a recomputation as it is now. */
export function RecomputationActions({ recomputation }: { recomputation: Recomputation }) {
  const { id, status, figures, outcome } = recomputation;
  const [asked, setAsked] = useState<Action | null>(null);
  const close = (): void => setAsked(null);
  const path = { params: { path: { id } } };
  const apply = useChange({ run: () => answer(admin.POST('/v1/recomputations/{id}/apply', path)) });
  const revert = useChange({ run: () => answer(admin.POST('/v1/recomputations/{id}/revert', path)) });
  const cancel = useChange({
    run: () => answer(admin.POST('/v1/recomputations/{id}/cancel', path)),
    done: 'The recomputation is cancelled.',
  });
  const applied = number(outcome.applied);
  return (
    <>
      {status === 'planned' && (
        <Button look="primary" onClick={() => setAsked('apply')}>
          Apply the plan
        </Button>
      )}
      {outcome.applied > 0 && (status === 'applied' || status === 'cancelled' || status === 'failed') && (
        <Button look="danger" onClick={() => setAsked('revert')}>
          Revert
        </Button>
      )}
      {(status === 'planning' || status === 'planned' || status === 'applying') && (
        <Button onClick={() => setAsked('cancel')}>Cancel it</Button>
      )}
      <Confirm
        open={asked === 'apply'}
        onClose={close}
        title="Apply the plan?"
        action="Apply"
        busy={apply.isPending}
        onConfirm={() => apply.mutate(undefined, { onSettled: close })}
      >
        Exactly what is shown: {number(figures.gaining)} users gain something, {number(figures.losing)} lose something.
        It can be reverted as a whole.
      </Confirm>
      <Confirm
        open={asked === 'revert'}
        onClose={close}
        title="Take back all that it did?"
        action="Revert"
        busy={revert.isPending}
        onConfirm={() => revert.mutate(undefined, { onSettled: close })}
      >
        {applied} users: points go back by entries of their own, never below 0; achievements that it completed go, and
        those that it took come back.
      </Confirm>
      <Confirm
        open={asked === 'cancel'}
        onClose={close}
        title="Cancel the recomputation?"
        action="End it"
        busy={cancel.isPending}
        onConfirm={() => cancel.mutate(undefined, { onSettled: close })}
      >
        It ends here. What it has applied so far stays, and can be reverted.
      </Confirm>
    </>
  );
}
