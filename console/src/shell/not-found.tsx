import { Link } from '@tanstack/react-router';
import { Screen } from '../ui/parts.tsx';

export const NotFound = () => (
  <Screen title="Page not found">
    <p>
      <Link to="/" className="text-accent underline">
        Go to the overview
      </Link>
    </p>
  </Screen>
);
