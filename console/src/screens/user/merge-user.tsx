import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { answer } from '../../api/answer.ts';
import { useChange } from '../../api/change.ts';
import { admin } from '../../api/client.ts';
import { Sheet } from '../../ui/dialogs.tsx';
import { Labelled, TextInput } from '../../ui/fields.tsx';
import { Form } from '../../ui/form.tsx';
import { counted, number } from '../../ui/format.ts';
import { FigureTable } from '../analytics/parts.tsx';

const request = (from: string, into: string, dryRun: boolean) =>
  answer(admin.POST('/v1/users/merge', { body: { from, into, dryRun, acrossControlGroup: false } }));

type Merge = Awaited<ReturnType<typeof request>>;

/** Merges the user into another, after a look at what that one will have. */
export const MergeUser = ({ id, open, onClose }: { id: string; open: boolean; onClose: () => void }) => (
  <Sheet open={open} onClose={onClose} title={`Merge ${id} into another user`}>
    <MergeForm from={id} />
  </Sheet>
);

function MergeForm({ from }: { from: string }) {
  const [into, setInto] = useState('');
  const navigate = useNavigate();
  const preview = useChange({ run: () => request(from, into, true), quiet: true });
  const merge = useChange({
    run: () => request(from, into, false),
    done: `${from} is merged: the ID now stands for the other user.`,
    quiet: true,
  });
  const shown = preview.data;
  return (
    <Form
      change={shown === undefined ? preview : merge}
      submit={shown === undefined ? 'Preview' : `Merge into ${shown.into} for good`}
      isDirty={into !== ''}
      incomplete={into === ''}
      onSubmit={() =>
        shown === undefined
          ? preview.mutate()
          : merge.mutate(undefined, {
              onSuccess: (done) => void navigate({ to: '/users/$id', params: { id: done.into } }),
            })
      }
    >
      <p className="text-muted">
        A guest becomes an account: everything of {from} goes to the user who stays, and {from} stands for that user
        afterwards. This cannot be undone.
      </p>
      <Labelled label="ID of the user who stays">
        <TextInput
          required
          value={into}
          onChange={({ target }) => {
            setInto(target.value);
            preview.reset();
            merge.reset();
          }}
        />
      </Labelled>
      {shown !== undefined && <Result merge={shown} />}
    </Form>
  );
}

function Result({ merge }: { merge: Merge }) {
  const { from, into, metrics, points, streak, freezes, achievements, idempotencyKeys } = merge;
  const figures = [
    ...Object.entries(metrics),
    ...Object.entries(points),
    ['Streak', streak] as const,
    ['Freezes', freezes] as const,
  ];
  return (
    <>
      <FigureTable
        label="What the user will have"
        head={['Figure', from, into, 'Afterwards']}
        rows={figures.map(([name, each]) => ({
          key: name,
          cells: [name, number(each.from), number(each.into), <strong key="merged">{number(each.merged)}</strong>],
        }))}
      />
      <p className="text-muted">
        {into} will have {counted(achievements.length, 'achievement')}, and takes over{' '}
        {counted(idempotencyKeys, 'used idempotency key')}.
      </p>
    </>
  );
}
