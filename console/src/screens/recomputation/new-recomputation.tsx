import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { answer } from '../../api/answer.ts';
import { useChange } from '../../api/change.ts';
import { admin } from '../../api/client.ts';
import { Button } from '../../ui/button.tsx';
import { Sheet } from '../../ui/dialogs.tsx';
import { Labelled, TextInput } from '../../ui/fields.tsx';
import { Failed } from '../../ui/parts.tsx';
import { RECOMPUTED } from './status.tsx';

type What = keyof typeof RECOMPUTED;

/** Asks for a plan: nothing changes by that. */
export function NewRecomputation({ open, onClose }: { open: boolean; onClose: () => void }) {
  return (
    <Sheet open={open} onClose={onClose} title="New recomputation">
      <Form onClose={onClose} />
    </Sheet>
  );
}

function Form({ onClose }: { onClose: () => void }) {
  const navigate = useNavigate();
  const [what, setWhat] = useState<What[]>(Object.keys(RECOMPUTED) as What[]);
  const [since, setSince] = useState('');
  const [userAttributes, setAttributes] = useState('');
  const [mayRevoke, setRevoke] = useState(false);
  const plan = useChange({
    run: async () => {
      const { id } = await answer(
        admin.POST('/v1/recomputations', {
          body: {
            what,
            mayRevoke,
            dryRun: true,
            ...(since !== '' && { since }),
            ...(userAttributes !== '' && { cohort: { userAttributes } }),
          },
        }),
      );
      await navigate({ to: '/recomputations/$id', params: { id } });
    },
    quiet: true,
  });
  return (
    <form
      className="flex flex-col gap-3"
      onSubmit={(event) => {
        event.preventDefault();
        plan.mutate();
      }}
    >
      <fieldset>
        <legend className="mb-1 font-medium">What</legend>
        {Object.entries(RECOMPUTED).map(([name, text]) => (
          <label key={name} className="flex items-center gap-2 py-0.5">
            <input
              type="checkbox"
              checked={what.includes(name as What)}
              onChange={({ target }) =>
                setWhat(target.checked ? [...what, name as What] : what.filter((other) => other !== name))
              }
            />
            {text}
          </label>
        ))}
      </fieldset>
      <Labelled
        label="Since"
        hint="The first day of whose awards and completions anything is changed. Empty: all of history."
      >
        <TextInput type="date" value={since} onChange={({ target }) => setSince(target.value)} />
      </Labelled>
      <Labelled label="Users with the attributes" hint="Such as plan:pro,country:de. Empty: all users.">
        <TextInput value={userAttributes} onChange={({ target }) => setAttributes(target.value)} />
      </Labelled>
      <label className="flex items-center gap-2">
        <input type="checkbox" checked={mayRevoke} onChange={({ target }) => setRevoke(target.checked)} />
        <span className="font-medium">Users may have less afterwards</span>
      </label>
      <p className="text-muted">A plan is made and shown. Nothing changes until you apply it.</p>
      {plan.isError && <Failed error={plan.error} />}
      <div className="flex justify-end gap-2">
        <Button onClick={onClose}>Cancel</Button>
        <Button type="submit" look="primary" disabled={plan.isPending || what.length === 0}>
          Make a plan
        </Button>
      </div>
    </form>
  );
}
