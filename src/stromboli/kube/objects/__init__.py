"""Wire objects: structs of the decoded fields, and the resources that serve them."""
