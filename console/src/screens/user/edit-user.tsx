import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { answer } from '../../api/answer.ts';
import { useChange } from '../../api/change.ts';
import { application } from '../../api/client.ts';
import { attributesQuery, type User } from '../../api/queries.ts';
import { Button } from '../../ui/button.tsx';
import { Sheet } from '../../ui/dialogs.tsx';
import { Labelled, TextInput } from '../../ui/fields.tsx';
import { Failed } from '../../ui/parts.tsx';

export function EditUser({ user, open, onClose }: { user: User; open: boolean; onClose: () => void }) {
  return (
    <Sheet open={open} onClose={onClose} title={`Edit ${user.id}`}>
      <Form user={user} onClose={onClose} />
    </Sheet>
  );
}

function Form({ user, onClose }: { user: User; onClose: () => void }) {
  const attributes = useQuery(attributesQuery).data?.filter(({ type }) => type === 'user') ?? [];
  const [values, setValues] = useState({ name: user.name ?? '', email: user.email ?? '', tz: user.tz ?? '' });
  const [own, setOwn] = useState<Record<string, string>>(user.attributes);
  const save = useChange({
    run: () =>
      answer(
        application.PATCH('/v1/users/{id}', {
          params: { path: { id: user.id } },
          body: { ...values, ...(Object.keys(own).length > 0 && { attributes: own }) },
        }),
      ),
    done: 'Saved.',
    quiet: true,
  });
  const text = (name: keyof typeof values, label: string, hint?: string) => (
    <Labelled label={label} hint={hint}>
      <TextInput value={values[name]} onChange={({ target }) => setValues({ ...values, [name]: target.value })} />
    </Labelled>
  );
  return (
    <form
      className="flex flex-col gap-3"
      onSubmit={(event) => {
        event.preventDefault();
        save.mutate(undefined, { onSuccess: onClose });
      }}
    >
      {text('name', 'Name')}
      {text('email', 'E-mail')}
      {text('tz', 'Time zone', 'An IANA name, such as Europe/Berlin; UTC without one')}
      {attributes.map(({ key, name }) => (
        <Labelled key={key} label={name}>
          <TextInput value={own[key] ?? ''} onChange={({ target }) => setOwn({ ...own, [key]: target.value })} />
        </Labelled>
      ))}
      {save.isError && <Failed error={save.error} />}
      <div className="flex justify-end gap-2">
        <Button onClick={onClose}>Cancel</Button>
        <Button type="submit" look="primary" disabled={save.isPending}>
          Save
        </Button>
      </div>
    </form>
  );
}
