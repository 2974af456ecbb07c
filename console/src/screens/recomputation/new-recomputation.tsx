import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { answer } from '../../api/answer.ts';
import { useChange } from '../../api/change.ts';
import { admin } from '../../api/client.ts';
import { Sheet } from '../../ui/dialogs.tsx';
import { Labelled, TextInput } from '../../ui/fields.tsx';
import { Form } from '../../ui/form.tsx';
import { RECOMPUTED } from './status.tsx';

type What = keyof typeof RECOMPUTED;

/** Requests a preview, which changes nothing. */
export function NewRecomputation({ open, onClose }: { open: boolean; onClose: () => void }) {
  return (
    <Sheet open={open} onClose={onClose} title="New recomputation">
      <NewForm />
    </Sheet>
  );
}

const ALL = Object.keys(RECOMPUTED) as What[];

function NewForm() {
  const navigate = useNavigate();
  const [what, setWhat] = useState<What[]>(ALL);
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
    <Form
      change={plan}
      submit="Create the preview"
      incomplete={what.length === 0}
      isDirty={what.length !== ALL.length || since !== '' || userAttributes !== '' || mayRevoke}
      onSubmit={() => plan.mutate()}
    >
      <fieldset>
        <legend className="mb-1 font-medium">Recompute</legend>
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
      <Labelled label="Since" hint="Awards and completions before this day stay unchanged. Empty: the whole history.">
        <TextInput type="date" value={since} onChange={({ target }) => setSince(target.value)} />
      </Labelled>
      <Labelled label="Only users with these attributes" hint="Such as plan:pro,country:de. Empty: all users.">
        <TextInput value={userAttributes} onChange={({ target }) => setAttributes(target.value)} />
      </Labelled>
      <label className="flex items-center gap-2">
        <input type="checkbox" checked={mayRevoke} onChange={({ target }) => setRevoke(target.checked)} />
        <span className="font-medium">Users may lose points and achievements</span>
      </label>
      <p className="text-muted">Laurel shows a preview. Nothing changes until you apply it.</p>
    </Form>
  );
}
