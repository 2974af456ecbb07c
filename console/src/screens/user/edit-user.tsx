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

function UserForm({ user, onClose }: { user: User; onClose: () => void }) {
  const attributes = useQuery(attributesQuery).data?.filter(({ type }) => type === 'user') ?? [];
  const [initial] = useState({ name: user.name ?? '', email: user.email ?? '', tz: user.tz ?? '' });
  const [values, setValues] = useState(initial);
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
    <Form
      change={save}
      submit="Save"
      isDirty={JSON.stringify([values, own]) !== JSON.stringify([initial, user.attributes])}
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
            onChange={({ target }) => setOwn({ ...own, [key]: target.value })}
          />
        </Labelled>
      ))}
    </Form>
  );
}
