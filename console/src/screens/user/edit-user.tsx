import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { answer } from '../../api/answer.ts';
import { useChange } from '../../api/change.ts';
import { application } from '../../api/client.ts';
import { attributesQuery, type User } from '../../api/queries.ts';
import { Sheet } from '../../ui/dialogs.tsx';
import { Labelled, TextInput } from '../../ui/fields.tsx';
import { Form } from '../../ui/form.tsx';
import { AttributeValueInput } from '../../ui/suggestions.tsx';

export const EditUser = ({ user, open, onClose }: { user: User; open: boolean; onClose: () => void }) => (
  <Sheet open={open} onClose={onClose} title={`Edit ${user.id}`}>
    <UserForm user={user} onClose={onClose} />
  </Sheet>
);

const fieldsOf = ({ name, email, tz }: User) => ({ name: name ?? '', email: email ?? '', tz: tz ?? '' });

/** What a person changed is sent and stays; the other fields show what is stored, also if it is read again. */
function UserForm({ user, onClose }: { user: User; onClose: () => void }) {
  const attributes = useQuery(attributesQuery).data?.filter(({ type }) => type === 'user') ?? [];
  const [edits, setEdits] = useState<Partial<ReturnType<typeof fieldsOf>>>({});
  const [ownEdits, setOwnEdits] = useState<Record<string, string>>({});
  const stored = fieldsOf(user);
  const values = { ...stored, ...edits };
  const own: Record<string, string> = { ...user.attributes, ...ownEdits };
  const save = useChange({
    run: () =>
      answer(
        application.PATCH('/v1/users/{id}', {
          params: { path: { id: user.id } },
          body: { ...edits, ...(Object.keys(ownEdits).length > 0 && { attributes: ownEdits }) },
        }),
      ),
    done: 'Saved.',
    quiet: true,
  });
  const text = (name: keyof typeof values, label: string, hint?: string) => (
    <Labelled label={label} hint={hint}>
      <TextInput value={values[name]} onChange={({ target }) => setEdits({ ...edits, [name]: target.value })} />
    </Labelled>
  );
  return (
    <Form
      change={save}
      submit="Save"
      isDirty={JSON.stringify([values, own]) !== JSON.stringify([stored, user.attributes])}
      onSubmit={() => save.mutate(undefined, { onSuccess: onClose })}
    >
      {text('name', 'Name')}
      {text('email', 'E-mail')}
      {text('tz', 'Time zone', 'IANA name, such as Europe/Berlin. Empty: UTC.')}
      {attributes.map(({ id, key, name }) => (
        <Labelled key={key} label={name}>
          <AttributeValueInput
            attributeId={id}
            value={own[key] ?? ''}
            onChange={({ target }) => setOwnEdits({ ...ownEdits, [key]: target.value })}
          />
        </Labelled>
      ))}
    </Form>
  );
}
